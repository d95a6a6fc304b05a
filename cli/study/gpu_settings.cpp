#include "gpu_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/compute_transfer.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "job_arguments.hpp"

namespace ddpsim {

GpuSettings::GpuSettings(const std::vector<std::string>& compute_scales,
                         const std::vector<std::string>& gpus, bool several)
    : several_(several) {
  for (const std::string& text : compute_scales) {
    const std::size_t colon = text.find(':');
    const std::string gpu = colon == std::string::npos ? "" : gpu_model_name(text.substr(0, colon));
    if (colon != std::string::npos) require_gpu_name("--compute-scale", text.substr(0, colon));
    const std::string ratio = colon == std::string::npos ? text : text.substr(colon + 1);
    if (!scales_.emplace(gpu, Scale{ratio}).second)
      throw UsageError(
          "--compute-scale",
          gpu.empty() ? Complaint{"given twice",
                                  "State the GPU of each, such as --compute-scale A100:2.3±0.2"}
                      : Complaint{gpu + " is given twice"});
  }
  for (const std::string& text : gpus) {
    require_gpu_name("--gpu", text);
    accepted_.emplace(gpu_model_name(text), false);
  }
}

void GpuSettings::apply(const Workload& workload, const Cluster& cluster, ComputeRequest& compute) {
  const std::string& gpu = cluster.gpu.name;
  of_clusters_.insert(gpu);
  const bool differs = workload.gpu.empty() || gpu_model_name(workload.gpu) != gpu;
  if (several_ && !differs) {
    // This workload was recorded on this GPU and runs as recorded.
  } else if (const auto own = scales_.find(gpu); own != scales_.end()) {
    use(own->second, gpu, compute);
  } else if (const auto any = scales_.find(""); any != scales_.end() && differs) {
    if (!any->second.gpu.empty() && any->second.gpu != gpu)
      throw UsageError(
          fmt::format("--compute-scale {}", any->second.ratio),
          fmt::format("the clusters have {} and {}", any->second.gpu, gpu),
          fmt::format("Give each its own, such as --compute-scale {}:{}", gpu, any->second.ratio));
    use(any->second, gpu, compute);
  }
  if (const auto accepted = accepted_.find(gpu); accepted != accepted_.end()) {
    accepted->second = true;
    if (differs) compute.gpu = gpu;
  }
}

void GpuSettings::require_all_used() const {
  for (const auto& [gpu, scale] : scales_)
    if (scale.gpu.empty())
      throw gpu.empty() ? UsageError("--compute-scale", "every cluster has the recorded GPU")
                        : UsageError("--compute-scale " + gpu, "no cluster has that GPU");
  for (const auto& [gpu, used] : accepted_)
    if (!used)
      throw UsageError(fmt::format("--gpu {}", gpu),
                       fmt::format("no cluster has that GPU, only {}; --gpu names a GPU of a "
                                   "cluster that is not the recorded one",
                                   fmt::join(of_clusters_, ", ")));
}

void GpuSettings::use(Scale& scale, const std::string& gpu, ComputeRequest& compute) {
  scale.gpu = gpu;
  compute.scale = parse_compute_scale(scale.ratio);
}

}  // namespace ddpsim
