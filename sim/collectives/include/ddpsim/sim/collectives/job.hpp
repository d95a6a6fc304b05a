// What is simulated: one workload on one cluster, with its options and one way of timing
// collectives. A job is immutable, so that all parts of an answer are about the same cluster.
// Copies are cheap, because they share the large parts.
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
  /// Bytes of each parameter's gradient; 0 if its shape is unknown.
  const std::vector<Bytes>& gradients() const { return *gradients_; }

  /// This job with another recording, other options or another way of timing collectives.
  Job with(Workload workload) const;
  Job with(SimulationOptions options) const;
  Job with(CollectiveModel model) const;
  /// This job on a cluster whose channels load its links differently. A FlowModel becomes its
  /// AnalyticModel, because its links belong to this cluster.
  Job with(std::shared_ptr<const LinkLoads> loads) const;
  /// This job on another cluster with as many GPUs a node. A FlowModel becomes its AnalyticModel.
  Job on(std::shared_ptr<const Cluster> cluster) const;

  /// Whether a group of that many nodes is known (Cluster::groups), or is the whole cluster.
  bool has_group(int nodes, std::optional<int> gpus_per_node = {}) const;
  /// The job as a process group of that many whole nodes sees it. A FlowModel becomes its
  /// AnalyticModel. Precondition: has_group.
  Job within(int nodes, std::optional<int> gpus_per_node = {}) const;

  /// The links of a FlowModel as NCCL's channels use them. Null for every other model.
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
  std::optional<CollectiveChoice> choice;  ///< absent if the model does not choose
  int channels = 0;                        ///< SMs the kernel holds while it is resident
  Duration volume{};                       ///< part in which links are busy
  Duration to_host{};                      ///< copy of the tensor before the start
  Duration to_device{};                    ///< copy back; zero with NCCL
};

/// Plan of the `index`-th collective of its kind in the step.
CollectivePlan plan(const Job& job, CollectiveKind kind, Bytes size, std::size_t index = 0);

/// Number of collectives that together fill the links. It is 1 if one alone does. Over sockets, one
/// communicator of NCCL does not fill them.
double collectives_to_fill(const Job& job);
/// Whether the times of its collectives already include compute running at the same time: they were
/// recorded so, or are gloo's, which has a processor of its own. NCCL's are otherwise those of
/// all_reduce_perf, which runs alone.
bool is_timed_beside_compute(const Job& job);
/// Number of collectives that one process group runs at a time.
int collectives_at_a_time(const Job& job);

}  // namespace ddpsim
