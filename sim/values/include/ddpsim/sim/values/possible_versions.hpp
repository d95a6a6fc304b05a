// Which PyTorch it may be where nothing says so: a recommendation must hold for each.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Releases of one bucketing era, and the NCCL that may come with them.
struct VersionRange {
  TorchVersion from;
  TorchVersion to;
  NcclVersion oldest_nccl;
  NcclVersion newest_nccl;
  bool operator==(const VersionRange&) const = default;
};

/// Every release with rules known here, oldest first. 1.13 was followed by 2.0.
std::vector<TorchVersion> torch_releases();

/// Whose rules stand in for all of these: kAssumedTorch where it is among them, else the newest.
TorchVersion assumed_among(const std::vector<VersionRange>& versions);

/// What neither the options (a hook that came later), the GPU recorded on or the cluster's, the
/// precision, the recording's form, nor the recorded NCCL exclude, oldest first. With a `stated`
/// NCCL every release runs that one, and excludes nothing: it may be another than the wheel's. The
/// recorded one excludes releases that ship others, unless no release ships it; RCCL's, of AMD's
/// GPUs, excludes none.
std::vector<VersionRange> possible_versions(const Workload& workload, const Cluster& cluster,
                                            const GpuModel* recorded_on, const DdpOptions& options,
                                            std::optional<NcclVersion> stated);

}  // namespace ddpsim
