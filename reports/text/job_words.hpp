// What every report calls a job, and which settings of it it names.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// The workload's own name, else what was asked for.
const std::string& workload_name(const ReportContext& context);
/// What the job is called among others, else its cluster's name.
const std::string& cluster_name(const ReportContext& context);
/// "resnet50 on dgx1v, 8 GPUs"
std::string subject(const ReportContext& context);

/// Absent where nobody asked for one: it is DDP then, and no report says so.
const Scheme* asked_scheme(const ReportContext& context);
/// Whether the job has DDP's buckets to speak of.
bool speaks_of_buckets(const ReportContext& context);
/// "default (1 MiB first, then 25 MiB)", "bucket_cap_mb=50 (50 MiB each)", "as recorded"; what shapes buckets beside their caps
/// stands behind.
std::string bucket_setting(const Job& job);

/// Of the collectives; NCCL's where it is not the backend: what it would be.
NcclVersion nccl_version(const Job& job);
/// "analytic", "flow".
std::string network_name(const Job& job);

/// What of a job's settings is said: where several jobs stand together, what differs is said of each.
struct SettingParts {
  bool scheme = true;
  bool buckets = true;
  bool compute = true;  ///< how fast, and how much slower on so many ranks
};
/// Versions, network model, scheme, buckets, compute.
std::string setting_text(const ReportContext& context, SettingParts parts);
/// All that this job has.
std::string setting_text(const ReportContext& context);

}  // namespace ddpsim
