#include "recorded_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "job_words.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr int kRecordedDigits = 3;

/// "Current step: 107 ms recorded on 2 GPUs (median of 5 steps, 81.8 to 167 ms)".
std::string recorded_steps(const RecordedJob& current, bool is_current, int digits) {
  const std::string where = current.ranks > 0
                                ? counted(static_cast<std::uint64_t>(current.ranks), "GPU")
                                : "several GPUs";
  if (!current.iterations)
    return (is_current ? "Current job: recorded on " : "Recorded on ") + where;
  const StepSpread& spread = *current.iterations;
  const TimeUnit unit = unit_for(spread.median);
  const std::string last =
      current.micro_batches == 1
          ? ""
          : fmt::format("the last of {} micro-batches, ", current.micro_batches);
  return fmt::format("{}: {} recorded on {} ({}median of {}, {}{} to {})",
                     is_current ? "Current step" : "Recorded", time_text(spread.median, digits),
                     where, last, counted(spread.steps, "step"),
                     spread.percentiles ? "10th to 90th percentile " : "",
                     time_number(spread.low, digits, unit), time_text(spread.high, digits, unit));
}

/// What follows if recorded and predicted all-reduces differ too much: another cluster, or ranks
/// that waited.
std::string contradiction(const RecordedJob& current) {
  // Recorded over predicted time from which ranks must have waited, or the cluster is another one.
  constexpr double kWaited = 2;
  // Predicted over recorded time from which the cluster is another one: nine in ten predictions
  // within a node are closer.
  constexpr double kUncertain = 1.3;
  if (current.recorded() > current.predicted().scaled(kWaited))
    return current.waits_apart ? ", so it is a different machine"
                               : ", so either it is a different machine or the recorded ranks "
                                 "waited for each other";
  if (current.predicted() > current.recorded().scaled(kUncertain))
    return current.waits_apart
               ? ", so the recorded cluster is faster"
               : ", more than recorded even with waits, so the recorded cluster is faster";
  return "";
}

std::string on_channels(int count) {
  return count > 0 ? fmt::format(" on {}", counted(static_cast<std::uint64_t>(count), "channel"))
                   : std::string();
}

/// "This cluster is predicted to need 0.7 ms on 24 channels, so it is a different machine"
std::string predicted_all_reduces(const RecordedJob& current, const std::string& who) {
  return fmt::format(
      "{} is predicted to need {}{}{}{}", who, time_text(current.predicted(), kRecordedDigits),
      on_channels(current.predicted_channels),
      current.fitted_to_recorded ? ", by a cost model fitted to the recorded times" : "",
      contradiction(current));
}

/// "Recorded: 107 ms …, 103 ms replayed. The recording spent 12 ms in 5 all-reduces on 8 channels",
/// and what is predicted for them here.
std::string recorded_all_reduces(const ReportContext& context, const std::string& on) {
  const RecordedJob& current = *context.provenance.recorded;
  const std::string where = on.empty() ? "" : " on " + on;
  std::string text = recorded_steps(current, !context.trust.replay, kRecordedDigits);
  const Duration replayed =
      context.trust.replay ? context.trust.replay->predicted : context.trust.confidence.predicted;
  const bool whole =
      context.job.options().accumulate == 1 && context.job.options().compute_scale == 1;
  if (current.comparable && current.iterations && whole && replayed > Duration())
    text += fmt::format(", {} replayed{}", time_text(replayed, kRecordedDigits), where);
  text += fmt::format(". The recording spent {} in {}{}",
                      time_text(current.recorded(), kRecordedDigits),
                      counted(current.buckets.size(), "all-reduce"), on_channels(current.channels));
  if (!current.comparable) return text;
  return text + ". " + predicted_all_reduces(current, on.empty() ? "This cluster" : on);
}

/// "181, 1.07, 17.7 MB".
std::string bucket_sizes(const RecordedJob& current) {
  constexpr std::size_t kMost = 8;
  std::string sizes;
  for (std::size_t i = 0; i < std::min(current.buckets.size(), kMost); ++i)
    sizes += fmt::format("{}{:.3g}", i == 0 ? "" : ", ",
                         static_cast<double>(current.buckets[i].bytes.count()) / 1e6);
  return sizes + (current.buckets.size() > kMost ? ", … MB" : " MB");
}

std::string options_text(const BucketSetting& setting, TorchVersion in_force) {
  std::vector<std::string> options;
  if (setting.torch != in_force) options.push_back("--torch " + to_string(setting.torch));
  if (setting.bucket_cap_mb)
    options.push_back(fmt::format("--bucket-cap-mb {}", *setting.bucket_cap_mb));
  if (setting.first_bucket_mb)
    options.push_back(fmt::format("--first-bucket-mb {}", *setting.first_bucket_mb));
  return fmt::format("{}", fmt::join(options, " "));
}

/// Which buckets are simulated if the recorded ones differ from those that the options give.
std::string recorded_buckets(const ReportContext& context) {
  const RecordedJob& current = *context.provenance.recorded;
  const std::string which = fmt::format(" Its buckets ({})", bucket_sizes(current));
  if (current.others.empty())
    return which + fmt::format(
                       " differ from PyTorch {}'s default and fit no split of the gradients. The "
                       "default is simulated, and gains count from it.",
                       to_string(context.job.options().torch));
  if (!context.job.options().buckets)
    return which + " are not replayed: the first steps of a training run have different ones.";
  if (!current.setting) return which + " are replayed as recorded: no bucket cap gives them.";
  const std::string options = options_text(*current.setting, context.job.options().torch);
  return which + fmt::format(" are replayed as recorded; {} gives the same.", options);
}

}  // namespace

std::string recorded_line(const ReportContext& context, const TerminalStyle& style,
                          const std::string& on) {
  if (!context.provenance.recorded) return "";
  const RecordedJob& current = *context.provenance.recorded;
  std::string text = recorded_all_reduces(context, on) + '.';
  if (!current.same_buckets && !current.asked_otherwise) text += recorded_buckets(context);
  return wrapped(text, style.width, kIndent);
}

std::string predicted_line(const ReportContext& context, const TerminalStyle& style) {
  return wrapped(
      predicted_all_reduces(*context.provenance.recorded, printable(cluster_name(context))) + '.',
      style.width, kIndent);
}

std::size_t beside_recording(const std::vector<CandidateContext>& contexts) {
  for (std::size_t i = 0; i < contexts.size(); ++i)
    if (contexts[i].provenance.recorded && contexts[i].provenance.recorded->comparable) return i;
  return 0;
}

}  // namespace ddpsim
