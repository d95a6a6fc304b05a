// --gpu and --compute-scale of a command with several clusters: what was said about GPUs the workload was not recorded on.
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
  /// `several` workloads: a ratio is of those that were recorded on another GPU. Throws UsageError where a GPU is given
  /// twice.
  GpuSettings(const std::vector<std::string>& compute_scales, const std::vector<std::string>& gpus,
              bool several = false);

  /// Sets in `compute` what holds for this cluster. Throws UsageError.
  void apply(const Workload& workload, const Cluster& cluster, ComputeRequest& compute);

  /// After all clusters. Throws UsageError.
  void require_all_used() const;

 private:
  struct Scale {
    std::string ratio;
    std::string gpu = {};  ///< of the clusters it was used for; empty: of none
  };
  static void use(Scale& scale, const std::string& gpu, ComputeRequest& compute);

  bool several_;
  std::map<std::string, Scale> scales_;  ///< "": whatever GPU differs
  std::map<std::string, bool> accepted_;
  std::set<std::string> of_clusters_;
};

}  // namespace ddpsim
