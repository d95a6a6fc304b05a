// How the collectives of a job are timed. Nothing here knows a cluster: a model times whatever job it is given to, on
// that job's cluster.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/background.hpp"
#include "ddpsim/sim/values/cost_factors.hpp"
#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/gloo.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// choose, then cost, on an idle network.
struct AnalyticModel {
  CollectiveTuning tuning{};
  CostFactors factors{};
};

/// choose, then the pipeline chunk by chunk over the links of a fabric, beside background traffic.
/// Algorithms the fabric has no channels for take what the cost model says.
struct FlowModel : AnalyticModel {
  std::shared_ptr<const Fabric> fabric;  ///< of the job's cluster
  std::shared_ptr<const Background> background;
};
FlowModel flow_model(const CollectiveTuning& tuning, Fabric fabric, Background background = {});

/// ProcessGroupGloo in place of NCCL; one NIC of each node takes part.
struct GlooModel {
  GlooLinks links{};
  CostFactors factors{};
};

/// Recorded durations by position in launch order, wait and transfer together; replays a trace.
struct RecordedModel {
  std::vector<Duration> durations;
  int channels = 0;  ///< of the recorded kernels; 0 where not known: they slow nothing
};

/// Collectives take no time and no SMs: the lower bound.
struct FreeModel {};

/// One of the models. A class of its own for the reason that Scheme is one.
class CollectiveModel
    : public std::variant<AnalyticModel, RecordedModel, FreeModel, FlowModel, GlooModel> {
 public:
  using variant::variant;
  CollectiveModel();
  CollectiveModel(const CollectiveModel& other);
  CollectiveModel(CollectiveModel&& other) noexcept;
  CollectiveModel& operator=(const CollectiveModel& other);
  CollectiveModel& operator=(CollectiveModel&& other) noexcept;
  ~CollectiveModel();
};

/// What runs the collectives.
Backend backend_of(const CollectiveModel& model);
/// The part of a model that NCCL chooses by; none where nothing is chosen.
const AnalyticModel* nccl_of(const CollectiveModel& model);
AnalyticModel* nccl_of(CollectiveModel& model);
/// Factors on the times the model predicts; none where it predicts nothing.
const CostFactors* cost_factors_of(const CollectiveModel& model);
CostFactors* cost_factors_of(CollectiveModel& model);

}  // namespace ddpsim
