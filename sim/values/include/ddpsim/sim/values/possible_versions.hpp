// The PyTorch versions that a job may run when nobody states one. A recommendation must hold for
// each of them.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Consecutive PyTorch releases of one bucketing era (bucketing_eras()), both ends included, and
/// the range of NCCL releases that may come with them.
struct VersionRange {
  TorchVersion from;
  TorchVersion to;
  NcclVersion oldest_nccl;
  NcclVersion newest_nccl;
  bool operator==(const VersionRange&) const = default;
};

/// Every PyTorch release whose rules ddpsim knows, oldest first. 1.13 was followed by 2.0.
std::vector<TorchVersion> torch_releases();

/// The version whose rules represent all of `versions`: kAssumedTorch if they contain it, otherwise
/// the newest.
TorchVersion assumed_among(const std::vector<VersionRange>& versions);

/// The releases that may have run the job, oldest first. A release is excluded if it lacks a set
/// option or the precision, or cannot run on the GPU recorded on or the cluster's GPU. It is also
/// excluded if it is older than the recording's format shows.
///
/// The recorded NCCL excludes releases that ship another one, with three exceptions. It excludes
/// none if no release ships it, if it is RCCL (AMD GPUs), or if NCCL is `stated`, since the user
/// may then have replaced the wheel's NCCL. With a `stated` NCCL, every range has that one.
std::vector<VersionRange> possible_versions(const Workload& workload, const Cluster& cluster,
                                            const GpuModel* recorded_on, const DdpOptions& options,
                                            std::optional<NcclVersion> stated);

}  // namespace ddpsim
