// What is simulated: one workload on one cluster, with its options, its collectives timed in one way. Sealed, so that
// no two parts of an answer can be of two clusters. Copies are cheap: what is large they share.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

class FlowPlanner;

class Job {
 public:
  Job(Workload workload, Cluster cluster, SimulationOptions options, CollectiveModel model);

  const Workload& workload() const { return *workload_; }
  const Cluster& cluster() const { return *cluster_; }
  const SimulationOptions& options() const { return *options_; }
  const CollectiveModel& model() const { return model_; }
  /// Bytes of each parameter's gradient; 0 where its shape is not known.
  const std::vector<Bytes>& gradients() const { return *gradients_; }

  /// The same job but for its recording, its options, or for how its collectives are timed.
  Job with(Workload workload) const;
  Job with(SimulationOptions options) const;
  Job with(CollectiveModel model) const;
  /// On a cluster whose channels load its wires otherwise. A FlowModel becomes its AnalyticModel:
  /// its links are those of this cluster.
  Job with(std::shared_ptr<const LinkLoads> loads) const;
  /// On another cluster of as many GPUs a node. A FlowModel becomes its AnalyticModel.
  Job on(std::shared_ptr<const Cluster> cluster) const;

  /// So many of its nodes are known by themselves (Cluster::groups), or are all of them.
  bool has_group(int nodes, std::optional<int> gpus_per_node = {}) const;
  /// What a process group of so many whole nodes sees. A FlowModel becomes its AnalyticModel. Precondition: has_group.
  Job within(int nodes, std::optional<int> gpus_per_node = {}) const;

  /// The links of a FlowModel as NCCL's channels use them; null for every other model.
  FlowPlanner* network() const { return network_.get(); }

 private:
  std::shared_ptr<const Workload> workload_;
  std::shared_ptr<const std::vector<Bytes>> gradients_;
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const SimulationOptions> options_;
  CollectiveModel model_;
  std::shared_ptr<FlowPlanner> network_;
};

struct CollectivePlan {
  Duration transfer;                       ///< last arrival to end, without background traffic
  std::optional<CollectiveChoice> choice;  ///< absent where the model does not choose
  int channels = 0;                        ///< SMs the kernel holds while it is resident
  Duration volume{};                       ///< the part of the transfer in which links are busy
  Duration to_host{};                      ///< copy of the tensor before it can begin …
  Duration to_device{};                    ///< … and back after its end; none by NCCL
};

/// Plan of the `index`-th collective of its kind in the step.
CollectivePlan plan(const Job& job, CollectiveKind kind, Bytes size, std::size_t index = 0);

/// Collectives that fill the links when as many run beside each other; 1: one alone does. Over sockets
/// one communicator of NCCL does not.
double collectives_to_fill(const Job& job);
/// Whether what its collectives take was recorded beside compute already, or is gloo's, which has a processor of its
/// own; NCCL's are otherwise known as all_reduce_perf times them, alone.
bool is_timed_beside_compute(const Job& job);
/// Collectives one process group runs at a time.
int collectives_at_a_time(const Job& job);

}  // namespace ddpsim
