// --gpu and --compute-scale of a command with several clusters, about GPUs that the workload was not recorded on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

class GpuSettings {
 public:
  /// With `several` workloads, a ratio applies to the workloads recorded on another GPU. Throws UsageError if a GPU is given twice.
  GpuSettings(const std::vector<std::string>& compute_scales, const std::vector<std::string>& gpus,
              bool several = false);

  /// Sets the options for this cluster in `compute`. Throws UsageError.
  void apply(const Workload& workload, const Cluster& cluster, ComputeRequest& compute);

  /// Throws UsageError if an option fitted no cluster. Call it after all clusters.
  void require_all_used() const;

 private:
  struct Scale {
    std::string ratio;
    /// The GPU of the clusters that used it; empty if none did.
    std::string gpu = {};
  };
  static void use(Scale& scale, const std::string& gpu, ComputeRequest& compute);

  bool several_;
  /// By GPU; "" is any GPU other than the recorded one.
  std::map<std::string, Scale> scales_;
  std::map<std::string, bool> accepted_;
  std::set<std::string> of_clusters_;
};

}  // namespace ddpsim
