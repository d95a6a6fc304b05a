#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice_lines.hpp"
#include "budget_lines.hpp"
#include "cap_words.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "recorded_lines.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"
#include "tune_curve.hpp"

namespace ddpsim {
namespace {

/// "bucket_cap_mb=100", "bucket_cap_mb=100 and a first bucket of 5 MiB", "PyTorch's default".
std::string setting_text(std::optional<double> cap_mb, std::optional<double> first_mb) {
  std::vector<std::string> parts;
  if (cap_mb) parts.push_back("bucket_cap_mb=" + exact_cap(*cap_mb));
  if (first_mb) parts.push_back(fmt::format("a first bucket of {} MiB", exact_cap(*first_mb)));
  return parts.empty() ? "PyTorch's default" : fmt::format("{}", fmt::join(parts, " and "));
}

std::string keep_verdict(const TuneResult& result, const std::optional<Replay>& replay, int digits,
                         TimeUnit unit) {
  const std::string keep = "Keep " + kept(result.current);
  const Duration gain = std::max(Duration(), result.baseline().iteration - result.best.iteration);
  const std::string step = time_text(result.baseline().iteration, digits, unit);
  const std::string measurable = time_text(result.recommended.measurable, digits, unit);
  if (replay && replay->contradicted())
    return fmt::format(
        "{}: the current step was measured at {} but replayed at {}: another job was recorded, or "
        "the unit is wrong.",
        keep, time_text(replay->measured, 3), step);
  if (result.recommended.depends_on_version)
    return fmt::format(
        "{} until you know the PyTorch version (--torch): a cap gains under some of the possible "
        "versions, not under all ({} a step).",
        keep, step);
  if (result.recommended.depends_on_cause)
    return fmt::format(
        "{} until you know whether the replay of the current step errs in compute or in "
        "communication: a cap gains in only one of the two cases ({} a step).",
        keep, step);
  if (const std::optional<MeasureFirst>& first = result.recommended.measure_first) {
    const GainText may_save = gain_text(first->gain, digits, unit);
    return fmt::format(
        "{0} until you have measured: {1} may save {2} {5} of {3} (80 % interval {4} {5}), but "
        "{6}.",
        keep, setting_text(first->bucket_cap_mb, first->first_bucket_mb), may_save.value, step,
        may_save.interval, name_of(unit), first->because);
  }
  if (gain == Duration()) {
    const std::string& reason = result.recommended.reason;
    return fmt::format("{}: {} ({} a step).", keep,
                       reason.empty() ? "no other bucket assignment is faster" : printable(reason),
                       step);
  }
  if (gain < result.recommended.measurable)
    return fmt::format(
        "{}: no bucket cap saves more than {} of {}, and less than {} cannot be measured.", keep,
        time_text(gain, digits, unit), step, measurable);
  return fmt::format(
      "{}: no common cap saves {} of {}, the least that can be measured. The fastest of all caps, "
      "{}, may save {}.",
      keep, measurable, step, range_in_sentence(result.best), time_text(gain, digits, unit));
}

std::string set_verdict(const TuneResult& result, const Trust& trust, int digits, TimeUnit unit) {
  const Recommendation& recommended = result.recommended;
  std::string what = "Set ";
  if (!recommended.bucket_cap_mb && !recommended.first_bucket_mb)
    what = "Pass no bucket_cap_mb (PyTorch's default)";
  if (recommended.bucket_cap_mb) {
    what += "bucket_cap_mb=" + exact_cap(*recommended.bucket_cap_mb);
    if (recommended.first_bucket_mb) what += " and ";
  }
  if (recommended.first_bucket_mb) {
    what += fmt::format("the first bucket to {} MiB", exact_cap(*recommended.first_bucket_mb));
  }
  const GainText gain = gain_text(recommended.gain, digits, unit);
  std::string text = fmt::format("{0}: saves {1} {4} of {2} (80 % interval {3} {4}; {5}).", what,
                                 gain.value, time_text(result.baseline().iteration, digits, unit),
                                 gain.interval, name_of(unit), trust.confidence.provenance);
  if (!trust.confidence.beyond.empty())
    text += fmt::format(" A guess: {}.", trust.confidence.beyond);
  if (trust.replay && !trust.replay->reproduced())
    text += fmt::format(
        " The replay differs from the current step by {} ({}); the gain is the mean for both "
        "possible causes, compute and communication.",
        time_text(trust.replay->missed(), digits, unit),
        percent_text(100 * trust.replay->missed_share()));
  return text;
}

/// The step with this cap; absent if no point of the curve covers it.
std::optional<Duration> step_with(const TuneResult& result, double cap) {
  const auto point = std::ranges::find_if(result.curve, [&](const CurvePoint& one) {
    return one.bucket_cap_mb && one.reachable && cap >= one.cap_range_mb.first &&
           cap <= one.cap_range_mb.second;
  });
  return point == result.curve.end() ? std::nullopt : std::optional(point->iteration);
}

/// "Caps from 50 to 200 MiB do as well; 25 MiB costs 2.5 ms more." Names only round caps that
/// people type.
std::string plateau(const TuneResult& result, int digits, TimeUnit unit) {
  const Recommendation& recommended = result.recommended;
  const auto [low, high] = recommended.cap_range_mb;
  std::vector<double> alike;
  std::optional<double> below;
  std::optional<double> above;
  for (const double cap : result.typed_caps) {
    if (cap < low)
      below = cap;
    else if (cap <= high)
      alike.push_back(cap);
    else if (!above)
      above = cap;
  }
  std::vector<std::string> parts;
  if (alike.size() > 1)
    parts.push_back(
        fmt::format("Caps from {} to {} MiB do as well, within the {} that can be measured",
                    alike.front(), alike.back(), time_text(recommended.measurable, digits, unit)));
  const std::optional<Duration> own = step_with(result, *recommended.bucket_cap_mb);
  for (const std::optional<double> cap : {below, above}) {
    const std::optional<Duration> step = cap ? step_with(result, *cap) : std::nullopt;
    if (own && step && *step > *own)
      parts.push_back(
          fmt::format("{} MiB costs {} more", *cap, time_text(*step - *own, digits, unit)));
  }
  return parts.empty() ? "" : fmt::format("{}.", fmt::join(parts, "; "));
}

/// "40 s", "3 min".
std::string length_text(Duration length) {
  constexpr double kMinute = 60'000;
  const double ms = length.milliseconds();
  return ms < 2 * kMinute ? fmt::format("{:.0f} s", std::ceil(ms / 10'000) * 10)
                          : fmt::format("{:.0f} min", std::ceil(ms / kMinute));
}

/// The command to run, and what each outcome means.
std::string measurement_lines(const MeasureFirst& first,
                              const std::optional<CurrentBuckets>& current,
                              const TerminalStyle& style) {
  std::string text = "\n    " + bold(first.command, style) + "\n\n";
  std::string means = fmt::format("It takes about {}. ", length_text(first.takes));
  if (first.set_up_to)
    means += fmt::format(
        "If the time it prints for {} is at most {} ({} predicted), set {}. If it is longer, keep "
        "{}. ",
        size_text(first.deciding), time_text(*first.set_up_to, 2), time_text(first.predicted, 2),
        setting_text(first.bucket_cap_mb, first.first_bucket_mb), kept(current));
  if (!first.then.empty()) means += fmt::format("To use the whole log: {}.", first.then);
  return text + wrapped(means, style.width, 2);
}

std::string recommendation_lines(const TuneResult& result, int digits, TimeUnit unit,
                                 const TerminalStyle& style) {
  const Recommendation& recommended = result.recommended;
  std::string lines;
  if (!recommended.python.empty()) lines += "\n    " + bold(recommended.python, style) + "\n\n";
  // Whether the verdict already gives the reason.
  const bool told =
      recommended.depends_on_cause || (!recommended.set && !recommended.depends_on_version);
  if (!told && !recommended.reason.empty()) {
    lines += wrapped(fmt::format("Why: {}.", printable(recommended.reason)), style.width, 2);
  }
  if (recommended.measure_first)
    lines += measurement_lines(*recommended.measure_first, result.current, style);
  if (!recommended.set || !recommended.bucket_cap_mb || result.only_caps_asked) return lines;
  const std::string around = plateau(result, digits, unit);
  if (!around.empty()) lines += wrapped(around, style.width, 2);
  return lines;
}

/// A DataLoader setting that saves time comes before any cap: "Set DataLoader(num_workers=2): saves
/// 48 ms (80 % interval 48 to 69 ms). "
std::string loader_first(const std::optional<AdviceRow>& setting, int digits, TimeUnit unit) {
  if (!setting || !setting->loads_data) return "";
  const AdviceRow& row = *setting;
  const GainText gain = gain_text(row.gain, digits, unit);
  return fmt::format("Set {0}: saves {1} {3} (80 % interval {2} {3}){4}. ",
                     fmt::join(row.settings, " + "), gain.value, gain.interval, name_of(unit),
                     row.note.empty() ? "" : "; " + row.note);
}

/// "fp16_compress_hook saves more: 100 ms, but changes numerics (…)."
std::string setting_hint(const std::optional<AdviceRow>& setting, int digits, TimeUnit unit,
                         const TerminalStyle& style) {
  if (!setting || setting->loads_data) return "";
  const AdviceRow& row = *setting;
  return wrapped(
      fmt::format("{} saves more: {}{} (`ddpsim advise` ranks every setting).",
                  fmt::join(row.settings, " + "), time_text(row.gain.value, digits, unit),
                  row.changes_numerics ? ", but changes numerics" : ""),
      style.width, 2);
}

}  // namespace

std::string tune_text(const TuneReport& report, const TerminalStyle& style) {
  const ReportContext& context = report.context;
  const Trust& trust = context.trust;
  const TuneResult& result = report.result;
  const int digits = digits_of(trust.confidence.grade);
  const TimeUnit unit = unit_for(result.baseline().iteration);
  const std::string first = wait_first(context, report.step, digits, unit) +
                            loader_first(report.better_setting, digits, unit);
  Page page;
  if (report.no_cap_because.empty()) {
    page.add(Weight::verdict, bold(first + (result.recommended.set
                                                ? set_verdict(result, trust, digits, unit)
                                                : keep_verdict(result, trust.replay, digits, unit)),
                                   style) +
                                  '\n' + recommendation_lines(result, digits, unit, style) +
                                  cause_lines(result, trust.replay, digits, unit, style) +
                                  version_lines(result, digits, unit, style));
  } else {
    page.add(Weight::verdict,
             bold(first + "No cap is recommended.", style) + '\n' +
                 wrapped(fmt::format("Why: {}.", report.no_cap_because), style.width, 2));
  }
  page.add(Weight::verdict, setting_hint(report.better_setting, digits, unit, style));
  page.add(Weight::trust, dim(subject(context), style) + '\n');
  page.add(Weight::trust, replay_line(trust, style));
  page.add(Weight::trust, recorded_line(context, style));
  page.add(Weight::trust, budget_line(trust, report.step.budget, style));
  page.add(Weight::answer, interval_line(trust.confidence, result.baseline().iteration, style));
  add_warnings(page, trust.warnings, style);
  page.add(Weight::evidence, next_measurement(trust.confidence, style));
  page.add(Weight::evidence, setting_line(setting_text(context), style));
  // A cap that the user asked for is always shown.
  const Weight curve = result.only_caps_asked ? Weight::verdict : Weight::answer;
  page.add(curve, curve_lines(result, digits, unit, style));
  page.add(Weight::evidence, after_blank(bound_lines(result, digits, unit, style)));
  page.add(Weight::more, after_blank(interval_reasons(trust.confidence, style)));
  page.add(Weight::next, hint_line(report.next_command, style));
  return page.text(style);
}

}  // namespace ddpsim
