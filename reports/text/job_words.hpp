// How reports name a job and its settings.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// The workload's own name, else the workload as typed.
const std::string& workload_name(const ReportContext& context);
/// The job's label in a comparison, else its cluster's name.
const std::string& cluster_name(const ReportContext& context);
/// "resnet50 on dgx1v, 8 GPUs"
std::string subject(const ReportContext& context);

/// The scheme if --scheme was given, else null: the scheme is then DDP, and reports do not mention
/// it.
const Scheme* asked_scheme(const ReportContext& context);
/// Whether the job uses DDP's buckets.
bool speaks_of_buckets(const ReportContext& context);
/// "default (1 MiB first, then 25 MiB)", "bucket_cap_mb=50 (50 MiB each)", "as recorded". Other
/// settings that shape buckets follow, such as a communication hook.
std::string bucket_setting(const Job& job);

/// NCCL's version. With gloo it is the version that NCCL would have.
NcclVersion nccl_version(const Job& job);
/// "analytic", "flow".
std::string network_name(const Job& job);

/// Which settings to print. With several jobs, settings that differ are printed for each job
/// instead.
struct SettingParts {
  bool scheme = true;
  bool buckets = true;
  /// The compute scale, and the slowdown on many ranks.
  bool compute = true;
};
/// Versions, network model, scheme, buckets and compute, as `parts` selects them.
std::string setting_text(const ReportContext& context, SettingParts parts);
/// All settings of this job.
std::string setting_text(const ReportContext& context);

}  // namespace ddpsim
