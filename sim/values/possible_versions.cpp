#include "ddpsim/sim/values/possible_versions.hpp"

#include <algorithm>
#include <span>

namespace ddpsim {
namespace {

constexpr TorchVersion kNativeAmp{1, 6};  // torch.cuda.amp
constexpr TorchVersion kBfloat16{1, 10};  // torch.autocast takes bfloat16

/// The first PyTorch whose wheels run on the GPU. ROCm's wheels: 1.11 came with 4.5 (MI200), 2.3
/// with 6.0 (MI300).
TorchVersion first_on(const GpuModel& gpu) {
  if (gpu.vendor == GpuVendor::nvidia) return first_torch_for(gpu.compute_capability);
  return gpu.compute_capability >= 90 ? TorchVersion{2, 3} : TorchVersion{1, 11};
}

TorchVersion first_for(const Workload& workload, const Cluster& cluster,
                       const GpuModel* recorded_on) {
  TorchVersion first = first_on(cluster.gpu);
  if (recorded_on != nullptr) first = std::max(first, first_on(*recorded_on));
  first = std::max(first, workload.torch_at_least.value_or(first));
  if (workload.precision == "amp") first = std::max(first, kNativeAmp);
  if (workload.precision.starts_with("bf16")) first = std::max(first, kBfloat16);
  return first;
}

std::size_t era_of(TorchVersion torch) {
  const std::span<const TorchVersion> eras = bucketing_eras();
  return static_cast<std::size_t>(std::ranges::upper_bound(eras, torch) - eras.begin());
}

}  // namespace

std::vector<TorchVersion> torch_releases() {
  std::vector<TorchVersion> all;
  for (int minor = 0; minor <= 13; ++minor) all.push_back({1, minor});
  for (int minor = 0; minor <= kNewestTorch.minor; ++minor)
    all.push_back({kNewestTorch.major, minor});
  return all;
}

TorchVersion assumed_among(const std::vector<VersionRange>& versions) {
  const bool usual = std::ranges::any_of(versions, [](const VersionRange& range) {
    return range.from <= kAssumedTorch && kAssumedTorch <= range.to;
  });
  return versions.empty() || usual ? kAssumedTorch : versions.back().to;
}

std::vector<VersionRange> possible_versions(const Workload& workload, const Cluster& cluster,
                                            const GpuModel* recorded_on, const DdpOptions& options,
                                            std::optional<NcclVersion> stated) {
  // For a version newer than any release known here, the newest rules are the best guess.
  const TorchVersion first = std::min(first_for(workload, cluster, recorded_on), kNewestTorch);
  std::vector<TorchVersion> possible;
  for (const TorchVersion torch : torch_releases())
    if (torch >= first && !unsupported(options, torch)) possible.push_back(torch);
  const bool rccl = recorded_on != nullptr && recorded_on->vendor == GpuVendor::amd;
  if (const auto recorded = workload.recorded_with.nccl; recorded && !stated && !rccl) {
    const auto ships_it = [&](TorchVersion torch) { return bundled_nccl(torch) == *recorded; };
    if (std::ranges::any_of(possible, ships_it))
      std::erase_if(possible, [&](TorchVersion torch) { return !ships_it(torch); });
  }
  const std::optional<NcclVersion> nccl = stated ? stated : workload.recorded_with.nccl;
  std::vector<VersionRange> ranges;
  for (const TorchVersion torch : possible) {
    const NcclVersion with = nccl.value_or(bundled_nccl(torch));
    if (ranges.empty() || era_of(ranges.back().from) != era_of(torch))
      ranges.push_back({torch, torch, with, with});
    ranges.back().to = torch;
    ranges.back().newest_nccl = with;
  }
  return ranges;
}

}  // namespace ddpsim
