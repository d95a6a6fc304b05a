#include "versions_in_force.hpp"

#include "ddpsim/jobs/workload_source.hpp"

namespace ddpsim {

VersionsInForce versions_in_force(const JobRequest& request, const Workload& workload,
                                  const Cluster& cluster) {
  VersionsInForce versions{
      .torch = torch_in_force(request.torch, workload.torch), .nccl = {}, .possible = {}};
  TorchInForce& torch = versions.torch;
  if (!torch.known) {
    const std::optional<GpuModel> gpu = recorded_on(workload);
    const auto possible = [&](const DdpOptions& options) {
      return possible_versions(workload, cluster, gpu ? &*gpu : nullptr, options,
                               request.collectives.nccl);
    };
    // Requested options do not change the assumed version; one that this version lacks is a usage
    // error.
    torch.version = assumed_among(possible(DdpOptions{}));
    versions.possible = possible(request.ddp);
  }
  versions.nccl = request.collectives.nccl.value_or(
      workload.recorded_with.nccl.value_or(bundled_nccl(torch.version)));
  return versions;
}

}  // namespace ddpsim
