// How the collectives of a job are timed. A model has no cluster of its own: it times collectives
// on the cluster of the job it is given to.
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

/// NCCL's choice, then the cost model on an idle network.
struct AnalyticModel {
  CollectiveTuning tuning{};
  CostFactors factors{};
};

/// The algorithm is NCCL's choice. Its pipeline is simulated chunk by chunk over the links of the
/// fabric (the network's links and switches), together with background traffic. If the fabric has
/// no channels (paths over links) for an algorithm, the cost model gives its time.
struct FlowModel : AnalyticModel {
  std::shared_ptr<const Fabric> fabric;  ///< the fabric of the job's cluster
  std::shared_ptr<const Background> background;
};
FlowModel flow_model(const CollectiveTuning& tuning, Fabric fabric, Background background = {});

/// ProcessGroupGloo instead of NCCL. One NIC of each node takes part.
struct GlooModel {
  GlooLinks links{};
  CostFactors factors{};
};

/// Recorded durations by position in launch order, waits and transfers together. Used to replay a
/// trace.
struct RecordedModel {
  std::vector<Duration> durations;
  /// Channels of the recorded kernels. If unknown, it is 0 and they slow nothing down.
  int channels = 0;
};

/// Collectives take no time and no SMs. This gives a lower bound.
struct FreeModel {};

/// One of the models. It is a class, not an alias, for the same reason as Scheme.
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
/// The part of a model that NCCL chooses by. Null if nothing is chosen.
const AnalyticModel* nccl_of(const CollectiveModel& model);
AnalyticModel* nccl_of(CollectiveModel& model);
/// Factors on the times that the model predicts. Null if it predicts nothing.
const CostFactors* cost_factors_of(const CollectiveModel& model);
CostFactors* cost_factors_of(CollectiveModel& model);

}  // namespace ddpsim
