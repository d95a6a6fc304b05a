#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice_lines.hpp"
#include "curve_selection.hpp"
#include "ddpsim/reports/reports.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

/// A cap as a user would type it, exactly.
std::string exact(double cap_mb) {
  return fmt::format("{}", cap_mb);
}

using CapRange = std::pair<double, double>;

/// `value` with as few decimals as leave it inside the range, rounded towards its inside: what is
/// printed must give what is printed beside it.
std::string inside(double value, const CapRange& range, bool upwards) {
  double power = 1;
  for (int decimals = 0; decimals <= 7; ++decimals, power *= 10) {
    const double rounded = (upwards ? std::ceil(value * power) : std::floor(value * power)) / power;
    if (rounded >= range.first && rounded <= range.second && decimals >= (value < 10 ? 3 : 2))
      return exact(rounded);
  }
  return exact(value);
}

std::string setting_name(const CurvePoint& point) {
  if (point.bucket_cap_mb)
    return "bucket_cap_mb=" + inside(*point.bucket_cap_mb, point.cap_range_mb, false);
  return fmt::format("a first bucket of {} MiB", cap_text(point.first_bucket_mb.value_or(0)));
}

std::string keep_verdict(const TuneResult& result, const std::optional<Replay>& replay, int digits,
                         TimeUnit unit) {
  const std::string keep = "Keep " + kept(result.today);
  const Duration gain = std::max(Duration(), result.baseline().iteration - result.best.iteration);
  const std::string step = time_text(result.baseline().iteration, digits, unit);
  const std::string measurable = time_text(result.recommended.measurable, digits, unit);
  if (replay && replay->contradicted())
    return fmt::format(
        "{}: today's step was measured at {} and is replayed with {}: another job was recorded, or "
        "a unit slipped.",
        keep, time_text(replay->measured, 3), step);
  if (result.recommended.depends_on_version)
    return fmt::format(
        "{} until you know which PyTorch runs: a cap gains under some versions, not under all that "
        "it may be ({} a step).",
        keep, step);
  if (result.recommended.depends_on_cause)
    return fmt::format(
        "{} until you know whether compute or communication is what the replay of today's step "
        "misses: a cap gains in one case, not in the other ({} a step).",
        keep, step);
  if (gain == Duration()) {
    const std::string& reason = result.recommended.reason;
    return fmt::format("{}: {} ({} a step).", keep,
                       reason.empty() ? "no other bucketing is faster" : printable(reason), step);
  }
  if (gain < result.recommended.measurable) {
    return fmt::format(
        "{}: no bucket cap gains more than can be measured (best {} of {}; {} is the least you "
        "could see).",
        keep, time_text(gain, digits, unit), step, measurable);
  }
  const Gain sure = result.recommended.most_robust.value_or(Gain{});
  return fmt::format(
      "{}: {} might save {} of {}, but too much is not known: even the most robust cap gains {} "
      "{}.",
      keep, setting_name(result.best), time_text(gain, digits, unit), step,
      time_interval(sure.low, sure.high, digits, unit), name_of(unit));
}

std::string set_verdict(const TuneResult& result, const ReportContext& context, int digits,
                        TimeUnit unit) {
  const Recommendation& recommended = result.recommended;
  std::string what = "Set ";
  if (!recommended.bucket_cap_mb && !recommended.first_bucket_mb)
    what = "Pass no bucket_cap_mb, as by default";
  if (recommended.bucket_cap_mb) {
    what += "bucket_cap_mb=" + exact(*recommended.bucket_cap_mb);
    if (recommended.first_bucket_mb) what += " and ";
  }
  if (recommended.first_bucket_mb) {
    what += fmt::format("the first bucket to {} MiB", exact(*recommended.first_bucket_mb));
  }
  std::string text =
      fmt::format("{}: saves {} of {} (interval {} {}, confidence {}).", what,
                  time_text(recommended.gain.value, digits, unit),
                  time_text(result.baseline().iteration, digits, unit),
                  time_interval(recommended.gain.low, recommended.gain.high, digits, unit),
                  name_of(unit), name_of(context.confidence.grade));
  if (!context.confidence.beyond.empty())
    text += fmt::format(" A guess: {}.", context.confidence.beyond);
  if (context.replay && !context.replay->reproduced())
    text += fmt::format(
        " The replay misses today's step by {} ({}): the gain is the mean of taking that for "
        "compute "
        "and for communication.",
        time_text(context.replay->missed(), digits, unit),
        percent_text(100 * context.replay->missed_share()));
  return text;
}

/// "22.1 MiB costs 1.4 ms more, 47.5 MiB 3.1 ms"; empty where there is no cliff.
std::string cliffs(const Recommendation& recommended, int digits, TimeUnit unit) {
  if (!recommended.next_worse) return "";
  std::vector<std::string> sides;
  const auto add = [&](const std::string& cap, Duration loss) {
    sides.push_back(fmt::format("{} MiB costs {} more", cap, time_text(loss, digits, unit)));
  };
  if (const std::optional<Cliff>& below = recommended.next_worse->below)
    add(inside(below->cap_mb, {0, below->cap_mb}, false), below->loss);
  if (const std::optional<Cliff>& above = recommended.next_worse->above)
    add(inside(above->cap_mb, {above->cap_mb, kNoLimitMb}, true), above->loss);
  return fmt::format("{}", fmt::join(sides, ", "));
}

std::string recommendation_lines(const TuneResult& result, int digits, TimeUnit unit,
                                 const TerminalStyle& style) {
  const Recommendation& recommended = result.recommended;
  std::string lines;
  if (!recommended.python.empty()) lines += "\n    " + bold(recommended.python, style) + "\n\n";
  const Duration gain = result.baseline().iteration - result.best.iteration;
  const bool told =  // by the verdict
      recommended.depends_on_cause || (!recommended.set && gain < recommended.measurable);
  if (!told && !recommended.reason.empty()) {
    lines += wrapped(fmt::format("Why: {}.", printable(recommended.reason)), style.width, 2);
  }
  const auto [low, high] = recommended.cap_range_mb;
  if (!recommended.set || low >= high) return lines;
  std::string range =
      fmt::format("Any cap from {} {} does as well, within the {} that can be measured",
                  inside(low, {low, high}, true),
                  high == kNoLimitMb ? "MiB up" : "to " + inside(high, {low, high}, false) + " MiB",
                  time_text(recommended.measurable, digits, unit));
  const std::string beyond = cliffs(recommended, digits, unit);
  if (!beyond.empty()) range += "; " + beyond;
  lines += wrapped(range + '.', style.width, 2);
  return lines;
}

std::string range_text(const CurvePoint& point) {
  if (!point.bucket_cap_mb) return "";
  const CapRange& range = point.cap_range_mb;
  const std::string low = inside(range.first, range, true);
  if (range.second == kNoLimitMb) return low + " and more";
  const std::string high = inside(range.second, range, false);
  if (low == high) return high;
  return range.first == 0 ? "up to " + high : low + " to " + high;
}

std::string marks_of(const CurvePoint& point, const TuneResult& result) {
  std::vector<std::string> marks;
  if (first_set_apart(point, result)) {
    marks.push_back(fmt::format("first bucket {} MiB", cap_text(*point.first_bucket_mb)));
  }
  if (!point.reachable) marks.emplace_back("not with this PyTorch");
  if (is_today(point, result)) marks.emplace_back("today");
  if (same_setting(point, result.default_setting)) marks.emplace_back("default");
  if (same_setting(point, result.best)) marks.emplace_back("best");
  if (is_recommended(point, result)) marks.emplace_back("recommended");
  return fmt::format("{}", fmt::join(marks, ", "));
}

/// Against today's, if communication is what the replay of today's step misses.
Duration change_if_communication(const CurvePoint& point, const TuneResult& result) {
  const CurvePoint& standard = result.baseline();
  return point.if_communication.value_or(point.iteration) -
         standard.if_communication.value_or(standard.iteration);
}

/// By more than can be measured, for any cap.
bool causes_differ(const TuneResult& result) {
  return std::ranges::any_of(result.curve, [&](const CurvePoint& point) {
    const Duration apart =
        change_if_communication(point, result) - (point.iteration - result.baseline().iteration);
    return std::max(apart, -apart) >= result.recommended.measurable;
  });
}

std::string curve_table(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style) {
  constexpr int kBarCells = 12;
  constexpr std::size_t kOnPage = 9;
  constexpr std::size_t kWhole = 15;
  const std::size_t rows = style.most_lines > 0 ? kOnPage : kWhole;
  std::vector<const CurvePoint*> shown;
  // No cap gives what was recorded, and caps asked for do not hold the default: every change is counted from it.
  if (result.today && result.today->recorded) shown.push_back(&result.today->point);
  if (result.only_caps_asked) shown.push_back(&result.default_setting);
  for (const std::size_t i : representative_points(result, rows)) shown.push_back(&result.curve[i]);
  if (shown.empty()) return "";
  Duration most;
  for (const CurvePoint* point : shown)
    most = std::max(most, point->iteration - result.lower_bound);
  std::vector<Duration> steps;
  for (const CurvePoint* point : shown) steps.push_back(point->iteration);
  const int step_digits = digits_apart(steps, digits, result.recommended.measurable, unit);
  const std::string suffix = fmt::format(" {}", name_of(unit));
  const bool either_way = causes_differ(result);
  std::vector<Column> columns = {{"bucket_cap_mb", Align::decimal},
                                 {"same for caps", Align::left, 2},
                                 {"buckets", Align::right, 3},
                                 {"step" + suffix, Align::decimal},
                                 {"change" + suffix, Align::decimal}};
  if (either_way) columns.push_back({"if communication", Align::decimal});
  columns.push_back({"blocking" + suffix, Align::decimal, 4});
  columns.push_back({"comm. cost", Align::left, 1});
  columns.push_back({"", Align::left});
  Table table(std::move(columns));
  for (const CurvePoint* shown_point : shown) {
    const CurvePoint& point = *shown_point;
    const Duration change = point.iteration - result.baseline().iteration;
    const Duration above = point.iteration - result.lower_bound;
    const std::optional<double> cap = shown_cap(point, result);
    // A cap of its own range is shown from inside it; the smallest of a range open upwards, rounded up.
    const bool open = point.cap_range_mb.second == kNoLimitMb;
    const bool recorded = result.today && &point == &result.today->point;
    const auto signed_time = [&](Duration time) {
      return (time > Duration() ? "+" : "") + time_number(time, digits, unit);
    };
    std::vector<std::string> cells = {cap        ? inside(*cap, point.cap_range_mb, open)
                                      : recorded ? "as recorded"
                                                 : "default",
                                      range_text(point), std::to_string(point.buckets),
                                      time_number(point.iteration, step_digits, unit),
                                      signed_time(change)};
    if (either_way) cells.push_back(signed_time(change_if_communication(point, result)));
    cells.push_back(time_number(point.blocking_communication, digits, unit));
    cells.push_back(most > Duration() ? bar(above / most, kBarCells) : "");
    cells.push_back(marks_of(point, result));
    table.add_row(std::move(cells));
  }
  return '\n' + table.text(style);
}

std::string curve_note(const TuneResult& result, const TerminalStyle& style) {
  const auto unsettable = static_cast<std::size_t>(std::count_if(
      result.curve.begin(), result.curve.end(), [](const CurvePoint& p) { return !p.reachable; }));
  const std::size_t settable = result.curve.size() - unsettable + result.unsimulated;
  const char* asked = result.left_out.empty() ? " asked for" : " tried";
  std::string text = result.only_caps_asked
                         ? counted(settable, "cap") + asked
                         : fmt::format("{} in all", counted(settable, "bucket assignment"));
  if (unsettable > 0)
    text += fmt::format(", and {} that this PyTorch does not let you set", unsettable);
  if (result.unsimulated > 0)
    text += fmt::format("; {} were simulated: those estimated fastest, and a sample of the others",
                        result.curve.size());
  return dim(wrapped(text + '.', style.width, 2), style);
}

std::string bound_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style) {
  std::string lines =
      wrapped(fmt::format("Lower bound: {} if collectives took no time; {} of {} step is theirs.",
                          time_text(result.lower_bound, digits, unit),
                          time_text(result.baseline().iteration - result.lower_bound, digits, unit),
                          result.today ? "today's" : "the default's"),
              style.width, 2);
  if (!result.best_partition) {
    if (result.best_partition_absent_because.empty()) return lines;
    return lines +
           wrapped("Best partition: none, " + printable(result.best_partition_absent_because) + '.',
                   style.width, 2);
  }
  const BestPartition& partition = *result.best_partition;
  constexpr std::size_t kMostSizes = 8;
  std::string sizes;
  for (std::size_t i = 0; i < std::min(partition.buckets.size(), kMostSizes); ++i) {
    sizes += (i == 0 ? "" : ", ") + mebibytes(partition.buckets[i].bytes);
  }
  if (partition.buckets.size() > kMostSizes) sizes += ", …";
  return lines + wrapped(fmt::format("Best partition found: {} in {} ({} MiB); {}.",
                                     time_text(partition.iteration, digits, unit),
                                     counted(partition.buckets.size(), "bucket"), sizes,
                                     partition.is_best_cap ? "the best cap gives it"
                                     : partition.reachable ? "bucket_cap_mb_list can set it"
                                                           : "no bucket cap can set it"),
                         style.width, 2);
}

/// "More than any cap: fp16_compress_hook saves 100 ms, and changes numerics (ddpsim advise)."
std::string lever_line(const ReportContext& context, int digits, TimeUnit unit,
                       const TerminalStyle& style) {
  if (!context.better_lever) return "";
  const AdviceRow& row = *context.better_lever;
  return wrapped(
      fmt::format("More than any cap: {} saves {}{} (`ddpsim advise` ranks every lever).",
                  fmt::join(row.levers, " + "), time_text(row.gain.value, digits, unit),
                  row.changes_numerics ? ", and changes numerics" : ""),
      style.width, 2);
}

}  // namespace

std::string tune_text(const TuneResult& result, const ReportContext& context,
                      const TerminalStyle& style) {
  const int digits = digits_of(context.confidence.grade);
  const TimeUnit unit = unit_for(result.baseline().iteration);
  Page page;
  if (context.no_cap_because.empty()) {
    page.add(Weight::verdict,
             bold(result.recommended.set ? set_verdict(result, context, digits, unit)
                                         : keep_verdict(result, context.replay, digits, unit),
                  style) +
                 '\n' + recommendation_lines(result, digits, unit, style) +
                 cause_lines(result, context, digits, unit, style) +
                 version_lines(result, digits, unit, style));
  } else {
    page.add(Weight::verdict,
             bold("No cap is recommended.", style) + '\n' +
                 wrapped(fmt::format("Why: {}.", context.no_cap_because), style.width, 2));
  }
  page.add(Weight::verdict, lever_line(context, digits, unit, style));
  page.add(Weight::trust, dim(subject(context), style) + '\n');
  page.add(Weight::trust, replay_line(context, style));
  page.add(Weight::trust, recorded_line(context, style));
  add_warnings(page, context, style);
  page.add(Weight::trust,
           confidence_line(context, result.baseline().iteration, style) + grades_line(style));
  page.add(Weight::evidence, next_measurement(context, style));
  page.add(Weight::trust, setting_line(context, style));
  // Of caps asked for none is left out.
  const Weight curve = result.only_caps_asked ? Weight::verdict : Weight::answer;
  page.add(curve, curve_table(result, digits, unit, style) + curve_note(result, style));
  page.add(Weight::evidence, after_blank(bound_lines(result, digits, unit, style)));
  page.add(Weight::next, hint_line(context, style));
  return page.text(style);
}

}  // namespace ddpsim
