// From the GPU and batch a workload was recorded with to those of the question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// How much faster the cluster's GPU runs the workload's compute, and how far off that may be.
struct ComputeScale {
  double factor = 1;
  std::optional<std::pair<double, double>> range;
};

/// "2.3", "2.3±0.2", "2.3+-0.2". Throws UsageError.
ComputeScale parse_compute_scale(const std::string& text);

/// Throws UsageError where an option names a GPU with a suffix that no variant has.
void require_gpu_name(const char* option, const std::string& name);

struct ComputeRequest {
  std::string workload;                      ///< as given on the command line, for messages
  std::optional<std::string> gpu;            ///< --gpu
  std::optional<std::string> compute_scale;  ///< --compute-scale
  std::optional<std::int64_t> batch;         ///< --batch
};

struct ComputeTransfer {
  ComputeScale scale;
  std::vector<std::string> warnings;
};

/// Rescales the workload where it was recorded on another GPU than the cluster's, or with another
/// batch than asked for: by --compute-scale as a whole, otherwise layer by layer, which needs a
/// model of the catalogue. Throws InputError or UsageError.
ComputeTransfer transfer_compute(Workload& workload, const ComputeRequest& request,
                                 const Cluster& cluster);

}  // namespace ddpsim
