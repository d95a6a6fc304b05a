// How collectives are timed: a value the step simulator asks once per collective.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "ddpsim/sim/background.hpp"
#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/gloo.hpp"
#include "ddpsim/sim/nccl.hpp"
#include "ddpsim/sim/time_scale.hpp"
#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// choose, then cost, on an idle network.
struct AnalyticModel {
  Cluster cluster;
  CollectiveTuning tuning;
  TimeScale scale{};
};

/// Recorded durations by position in launch order, wait and transfer together; replays a trace.
struct RecordedModel {
  std::vector<Duration> durations;
  int channels = 0;  ///< of the recorded kernels; 0 where not known: they slow nothing
};

/// Collectives take no time and no SMs: the lower bound.
struct FreeModel {};

class FlowPlanner;

/// choose, then the pipeline chunk by chunk over the links of a fabric, beside background traffic.
/// Algorithms the fabric has no channels for take what the law says.
struct FlowModel : AnalyticModel {
  std::shared_ptr<FlowPlanner> network;
};
FlowModel flow_model(const Cluster& cluster, const CollectiveTuning& tuning, Fabric fabric,
                     const Background& background = {});

using CollectiveModel = std::variant<AnalyticModel, RecordedModel, FreeModel, FlowModel, GlooModel>;

/// The part of a model that chooses algorithms for a cluster; none where nothing is chosen.
const AnalyticModel* chooser_of(const CollectiveModel& model);
AnalyticModel* chooser_of(CollectiveModel& model);
/// Factors on the times the model predicts; none where it predicts nothing.
TimeScale* time_scale_of(CollectiveModel& model);

struct CollectivePlan {
  Duration transfer;                       ///< last arrival to end, without background traffic
  std::optional<CollectiveChoice> choice;  ///< absent where the model does not choose
  int channels = 0;                        ///< SMs the kernel holds while it is resident
  Duration volume{};                       ///< the part of the transfer in which links are busy
  Duration to_host{};                      ///< copy of the tensor before it can begin …
  Duration to_device{};                    ///< … and back after its end; none by NCCL
};

/// Collectives that fill the links when as many run beside each other; 1: one alone does. Over sockets
/// one communicator of NCCL does not.
double collectives_to_fill(const CollectiveModel& model);
/// Collectives one process group runs at a time.
int collectives_at_a_time(const CollectiveModel& model);

/// Plan of the `index`-th collective of its kind in the step.
CollectivePlan plan(const CollectiveModel& model, CollectiveKind kind, Bytes size,
                    std::size_t index);

}  // namespace ddpsim
