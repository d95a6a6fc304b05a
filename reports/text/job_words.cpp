#include "job_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ddpsim/sim/step/compute_speed.hpp"
#include "scheme_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string setting_of(const DdpOptions& options, TorchVersion torch) {
  std::string hook =
      options.comm_hook == CommHook::none ? "" : fmt::format(", {}", name_of(options.comm_hook));
  if (options.comm_hook_min_mb > 0) hook += fmt::format(" from {} MiB", options.comm_hook_min_mb);
  if (options.comm_hook == CommHook::power_sgd)
    hook += fmt::format(" of rank {}", options.power_sgd.matrix_approximation_rank);
  if (options.comm_hook == CommHook::post_local_sgd)
    hook += fmt::format(" of period {}", options.local_sgd.period);
  if (options.optimizer_in_backward) hook += ", optimizer in backward";
  if (!options.bucket_cap_mb_list.empty())
    return fmt::format("bucket_cap_mb_list=[{}]{}", fmt::join(options.bucket_cap_mb_list, ", "),
                       hook);
  const BucketLimits limits = bucket_limits(options, torch);
  const auto mib = [](Bytes bytes) { return static_cast<double>(bytes.count()) / 1048576; };
  const double first = mib(limits.rebuild.front());
  const double cap = mib(limits.rebuild.back());
  const std::string in_force = first == cap ? fmt::format("{} MiB each", cap)
                                            : fmt::format("{} MiB first, then {} MiB", first, cap);
  return options.bucket_cap_mb
             ? fmt::format("bucket_cap_mb={} ({}){}", *options.bucket_cap_mb, in_force, hook)
             : fmt::format("default ({}){}", in_force, hook);
}

/// How ranks differ: stragglers, staggered starts and jitter.
std::string variation_text(const RankVariation& variation) {
  std::string text;
  for (const Straggler& straggler : variation.stragglers)
    text += fmt::format("; rank {} takes {} times as long", straggler.rank, straggler.slowdown);
  if (variation.stagger > Duration())
    text += fmt::format("; starts staggered over {}", time_text(variation.stagger, 3));
  if (variation.jitter > 0)
    text += fmt::format("; jitter {} of each rank's compute, log-normal, seed {}",
                        percent_text(100 * variation.jitter), variation.seed);
  return text;
}

/// How fast the job computes compared with its recording.
std::string compute_text(const Job& job) {
  std::string text;
  if (const double scale = job.options().compute_scale; scale != 1)
    text += fmt::format("; compute {} times as fast as recorded", significant(scale, 3));
  if (const double slowdown = slowdown_shares(job).slowdown(); slowdown != 1)
    text += fmt::format(
        "; with this many ranks compute is {} {} than given (--gpu-spread, --rank-slowdown)",
        percent_text(100 * std::abs(slowdown - 1)), slowdown > 1 ? "slower" : "faster");
  return text;
}

}  // namespace

const std::string& workload_name(const ReportContext& context) {
  const std::string& own = context.job.workload().name;
  return own.empty() ? context.provenance.workload_source : own;
}

const std::string& cluster_name(const ReportContext& context) {
  const std::optional<std::string>& label = context.provenance.label;
  return label ? *label : context.job.cluster().name;
}

std::string subject(const ReportContext& context) {
  return fmt::format("{} on {}, {}", printable(workload_name(context)),
                     printable(cluster_name(context)),
                     counted(static_cast<std::uint64_t>(context.job.cluster().ranks()), "GPU"));
}

const Scheme* asked_scheme(const ReportContext& context) {
  return context.provenance.scheme_asked ? &context.job.options().scheme : nullptr;
}

bool speaks_of_buckets(const ReportContext& context) {
  return uses_reducer(context.job.options().scheme);
}

std::string bucket_setting(const Job& job) {
  return job.options().buckets ? "as recorded"
                               : setting_of(job.options().ddp(), job.options().torch);
}

NcclVersion nccl_version(const Job& job) {
  const AnalyticModel* nccl = nccl_of(job.model());
  return nccl == nullptr ? NcclVersion() : nccl->tuning.nccl;
}

std::string network_name(const Job& job) {
  return std::holds_alternative<FlowModel>(job.model()) ? "flow" : "analytic";
}

std::string setting_text(const ReportContext& context, SettingParts parts) {
  const Job& job = context.job;
  const std::string library =
      backend_of(job.model()) == Backend::gloo ? "gloo" : "NCCL " + to_string(nccl_version(job));
  std::string text = fmt::format("PyTorch {}{}, {}, {} network", to_string(job.options().torch),
                                 context.provenance.torch_known ? "" : " (assumed: --torch)",
                                 library, network_name(job));
  if (const Scheme* scheme = asked_scheme(context); scheme != nullptr && parts.scheme)
    text += "; " + printable(scheme_text(*scheme));
  if (parts.buckets) text += "; buckets: " + printable(bucket_setting(job));
  if (parts.compute) text += compute_text(job);
  return text + variation_text(job.options().variation);
}

std::string setting_text(const ReportContext& context) {
  return setting_text(context, {.buckets = speaks_of_buckets(context)});
}

}  // namespace ddpsim
