#include "speedup_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ddpsim/sim/values/size_text.hpp"
#include "error_source.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string percent_of_speed(double percent) {
  return significant(std::abs(percent), 2) + " %";
}

/// One bound of a speedup: "3 % slower", "12 % faster".
std::string bound_text(double percent) {
  return percent_of_speed(percent) + (percent < 0 ? " slower" : " faster");
}

/// Below this percentage a speedup is printed as 0.0 %.
constexpr double kEqual = 0.05;

/// From this percentage on, a speedup is printed as a factor.
constexpr double kAsFactor = 50;

double factor(double percent) {
  return 1 + percent / 100;
}

/// "1.9", "1.7 to 2.1"
std::string factor_text(const Speedup& speedup) {
  return significant(factor(speedup.percent), 2);
}
std::string factor_interval(const Speedup& speedup) {
  return interval_text(factor(speedup.low_percent), factor(speedup.high_percent), 2);
}

std::string certain_speedup(const Speedup& speedup, const std::string& fastest,
                            const std::string& other) {
  if (speedup.percent < kAsFactor)
    return fmt::format("{} trains {} faster than {} ({}).", fastest,
                       percent_of_speed(speedup.percent), other,
                       interval_text(speedup.low_percent, speedup.high_percent, 2, " %"));
  return fmt::format("{} trains {} times as fast as {} ({}).", fastest, factor_text(speedup), other,
                     factor_interval(speedup));
}

std::string open_speedup(const Speedup& speedup, const std::string& fastest,
                         const std::string& other) {
  if (speedup.percent < kEqual)
    return fmt::format("{} and {} train equally fast, as far as is known: {} to {}.", fastest,
                       other, bound_text(speedup.low_percent), bound_text(speedup.high_percent));
  return fmt::format(
      "Not decided: {} is predicted to train {} than {}, but it may be anything from {} to {}.",
      fastest, bound_text(speedup.percent), other, bound_text(speedup.low_percent),
      bound_text(speedup.high_percent));
}

/// "tree/LL128 on 8 channels"
std::string choice_text(const CollectiveChoice& choice) {
  return fmt::format("{}/{} on {}", name_of(choice.algorithm), name_of(choice.protocol),
                     counted(static_cast<std::uint64_t>(choice.channels), "channel"));
}

/// If one cluster dominates the other: for which size NCCL chooses differently on the two.
std::string other_choice_text(const OtherChoice& choice, const std::string& fastest,
                              const std::string& other) {
  return fmt::format("for {} NCCL chooses {} on {} and {} on {}", rounded_size_text(choice.size),
                     choice_text(choice.on_faster), fastest, choice_text(choice.on_other), other);
}

/// Why the order is not decided: the widest error source that can reverse it alone, or that none
/// can.
std::string undecided_by(const Speedup& speedup, std::span<const std::string> workloads) {
  for (const SpeedupSource& source : speedup.sources)
    if (source.changes_order())
      return fmt::format("The order could be reversed by {} alone: {} to {}.",
                         source_phrase(source, workloads), bound_text(source.low_percent),
                         bound_text(source.high_percent));
  return speedup.sources.empty() ? ""
                                 : fmt::format(
                                       "Only several errors together could reverse the order, none "
                                       "alone; the widest is {}.",
                                       source_phrase(speedup.sources.front(), workloads));
}

/// "from A on", "up to B", "from A to B", "at A", "everywhere"
std::string range_text(const NamedInterval& range) {
  if (range.from_first && range.to_last) return "everywhere";
  if (range.to_last && range.from != range.to) return fmt::format("from {} on", range.from);
  if (range.from_first && range.from != range.to) return fmt::format("up to {}", range.to);
  if (range.from == range.to) return fmt::format("at {}", range.from);
  return fmt::format("from {} to {}", range.from, range.to);
}

std::string ranges_text(const std::vector<NamedInterval>& ranges) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (const NamedInterval& range : ranges) {
    if (texts.size() == kMost) break;
    texts.push_back(printable(range_text(range)));
  }
  if (texts.empty()) return "nowhere";
  if (ranges.size() > kMost)
    texts.back() = fmt::format("and {} more, the last {}", ranges.size() - kMost + 1,
                               printable(range_text(ranges.back())));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Whether the condition begins to hold at most once and then holds to the end of the range.
bool begins_once(const std::vector<NamedInterval>& ranges) {
  return ranges.empty() || (ranges.size() == 1 && ranges.front().to_last);
}

std::string beginning_sentence(const std::string& subject, const Until& until) {
  if (until.possible.empty())
    return fmt::format("{}: certainly nowhere up to {}.", subject, printable(until.last));
  const std::string earliest = printable(until.possible.front().from);
  if (until.predicted.empty())
    return fmt::format("{}: not predicted up to {}; possible from {} on.", subject,
                       printable(until.last), earliest);
  const std::string predicted = printable(until.predicted.front().from);
  if (until.certain.empty())
    return fmt::format("{}: predicted from {} on; possible from {} on, perhaps nowhere.", subject,
                       predicted, earliest);
  const std::string latest = printable(until.certain.front().from);
  if (earliest == latest) return fmt::format("{}: certainly from {} on.", subject, predicted);
  return fmt::format("{}: predicted from {} on; possible from {} on, certain from {} on.", subject,
                     predicted, earliest, latest);
}

}  // namespace

std::string name_of_job(const std::string& label, int ranks) {
  return fmt::format("{} ({})", printable(label),
                     counted(static_cast<std::uint64_t>(ranks), "GPU"));
}

std::string name_of_job(const ReportContext& context) {
  return name_of_job(cluster_name(context), context.job.cluster().ranks());
}

std::string source_phrase(const SpeedupSource& source, std::span<const std::string> workloads) {
  const std::string phrase(phrase_of(source.source));
  return source.workload ? fmt::format("{} of {}", phrase, printable(workloads[*source.workload]))
                         : phrase;
}

std::string speedup_sentence(const Speedup& speedup, const std::string& fastest,
                             const std::string& other) {
  if (speedup.same)
    return fmt::format("{} and {} differ only in name, so they are equally fast.", fastest, other);
  if (speedup.never_slower && !speedup.certain())
    return speedup.percent < kEqual
               ? fmt::format("{} is predicted to gain nothing over {}: 0 to {}.", fastest, other,
                             bound_text(speedup.high_percent))
               : fmt::format("{} trains {} faster than {} ({}), and never slower.", fastest,
                             percent_of_speed(speedup.percent), other,
                             interval_text(speedup.low_percent, speedup.high_percent, 2, " %"));
  return speedup.certain() ? certain_speedup(speedup, fastest, other)
                           : open_speedup(speedup, fastest, other);
}

std::string learning_caveat(const NamedCandidate& first, const NamedCandidate& other) {
  if (first.changed_numerics == other.changed_numerics) return "";
  std::vector<std::string> names;
  for (const NamedCandidate* one : {&first, &other})
    if (!one->changed_numerics.empty()) names.push_back(one->name);
  return fmt::format(" This compares samples per second, not training quality: {} {} numerics.",
                     fmt::join(names, " and "), names.size() == 1 ? "changes" : "change");
}

std::string speedup_reason(const Speedup& speedup, const std::string& fastest,
                           const std::string& other, std::span<const std::string> workloads) {
  if (speedup.same) return "";
  if (speedup.dominating_is_slower) {
    const std::string because = speedup.other_choice
                                    ? other_choice_text(*speedup.other_choice, fastest, other)
                                    : "NCCL's choices take longer there";
    return fmt::format(
        "{} is a strictly better configuration than {}, yet predicted to be {}: {}. {}", other,
        fastest, speedup.percent < kEqual ? "no faster" : "slower", because,
        speedup.certain() ? "" : undecided_by(speedup, workloads));
  }
  if (speedup.never_slower)
    return fmt::format(
        "{} is a strictly better configuration than {}, and NCCL chooses the same on both.",
        fastest, other);
  std::string text;
  if (speedup.other_choice)
    text = fmt::format("{} is a strictly better configuration than {}, but {}. ", fastest, other,
                       other_choice_text(*speedup.other_choice, fastest, other));
  return speedup.certain() ? text : text + undecided_by(speedup, workloads);
}

std::string until_sentence(const Until& until) {
  std::string subject = printable(until.condition);
  if (!until.candidate.empty()) subject += " on " + printable(until.candidate);
  if (!until.workload.empty()) subject += " with " + printable(until.workload);
  const bool once =
      begins_once(until.predicted) && begins_once(until.possible) && begins_once(until.certain);
  std::string text = once ? beginning_sentence(subject, until)
                          : fmt::format("{}: predicted {}; possible {}; certain {}.", subject,
                                        ranges_text(until.predicted), ranges_text(until.possible),
                                        ranges_text(until.certain));
  if (until.without_answer > 0)
    text += fmt::format(" {} of the {} values have no answer.", until.without_answer, until.asked);
  return text;
}

std::string speedup_tornado(const Speedup& speedup, const std::string& fastest,
                            const std::string& other, std::span<const std::string> workloads,
                            const TerminalStyle& style) {
  if (speedup.sources.empty()) return "";
  double low = std::min(0.0, speedup.low_percent);
  double high = std::max(0.0, speedup.high_percent);
  constexpr int kCells = 32;
  const double width = high - low;
  const auto cell = [&](double percent) {
    const double share = std::clamp((percent - low) / width, 0.0, 1.0);
    return static_cast<int>(std::min<double>(kCells - 1, std::floor(share * kCells)));
  };
  const auto drawn = [&](double from, double to) {
    std::string bar;
    for (int k = 0; k < kCells; ++k)
      bar += k == cell(0)                       ? "│"
             : k == cell(speedup.percent)       ? "▓"
             : k >= cell(from) && k <= cell(to) ? "░"
                                                : " ";
    return bar;
  };
  Table table({{fmt::format("{} over {}", fastest, other), Align::left, 0, true},
               {"faster by %", Align::left},
               {"slower │ faster", Align::left, 2},
               {"order", Align::left, 1}});
  const auto add = [&](const std::string& name, double from, double to) {
    table.add_row({name, interval_text(from, to, 2), drawn(from, to), from < 0 ? "reversed" : ""});
  };
  for (const SpeedupSource& source : speedup.sources)
    add(source_phrase(source, workloads), source.low_percent, source.high_percent);
  if (speedup.sources.size() > 1) add("all together", speedup.low_percent, speedup.high_percent);
  return after_blank(table.text(style)) +
         wrapped("Each row varies one error source alone; ▓ marks the prediction.", style.width,
                 kIndent);
}

std::string speedup_text(const Speedup& speedup) {
  if (speedup.same) return "the same";
  if (speedup.percent >= kAsFactor)
    return fmt::format("x{} ({})", factor_text(speedup), factor_interval(speedup));
  return fmt::format("{} % ({})", significant(speedup.percent, 2),
                     interval_text(speedup.low_percent, speedup.high_percent, 2));
}

}  // namespace ddpsim
