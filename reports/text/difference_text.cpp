#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cause_words.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "difference_tables.hpp"
#include "difference_words.hpp"
#include "late_rank_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostCauses = 4;  ///< shown without --verbose

class DifferenceText {
 public:
  DifferenceText(const DifferenceReport& report, const TerminalStyle& style)
      : report_(report),
        difference_(report.difference),
        style_(style),
        unit_(unit_for(std::max(difference_.before.step, difference_.after.step))),
        decimals_(decimals()) {}

  std::string run() {
    if (report_.timed) {
      verdict();
      sides();
      text_ += step_change_table(report_, unit_, decimals_, style_);
      text_ += all_reduce_change_table(report_, style_);
      text_ += kernel_change_table(report_, unit_, style_);
    } else {
      evidence_alone();
    }
    causes();
    findings();
    text_ += late_rank_lines(report_, unit_, style_);
    text_ += pair_lines(report_, style_);
    notes();
    return std::move(text_);
  }

 private:
  void paragraph(const std::string& text, std::size_t indent = 0) {
    text_ += wrapped(text, style_.width, indent);
  }
  /// Decimals that suit the largest change and the noise.
  int decimals() const {
    Duration largest = difference_.noise;
    for (const DifferenceRow& row : difference_.rows)
      largest = std::max(largest, without_sign(row.change));
    return decimals_for(in_unit(largest, unit_));
  }
  /// Three digits, or more if the table below shows more.
  std::string step_text(Duration step) const {
    const std::string digits = time_number(step, kDifferenceDigits, unit_);
    const std::string as_in_table = fixed(in_unit(step, unit_), decimals_);
    return fmt::format("{} {}", digits.size() > as_in_table.size() ? digits : as_in_table,
                       name_of(unit_));
  }
  void evidence_alone();
  void verdict();
  void sides();
  std::string all_reduce_words() const;
  void causes();
  void findings();
  void notes();

  const DifferenceReport& report_;
  const StepDifference& difference_;
  const TerminalStyle& style_;
  const TimeUnit unit_;
  /// Decimals of step times and of their parts.
  const int decimals_;
  std::string text_;
};

void DifferenceText::evidence_alone() {
  const std::size_t count = report_.findings.size();
  std::string first = "No times to compare";
  if (report_.compared.empty())
    first += ", and the two sides share no kind of evidence";
  else if (count == 0)
    first += fmt::format(", and nothing costs time or has changed in what both sides hold: {}",
                         fmt::join(report_.compared, ", "));
  if (count > 0) first += fmt::format("; {}", counted(count, "finding"));
  text_ += bold(wrapped(first + '.', style_.width, 0), style_);
}

void DifferenceText::verdict() {
  const bool all_reduce = report_.before.all_reduce.has_value();
  const std::string both =
      all_reduce ? all_reduce_words()
                 : fmt::format("step {} before, {} now", step_text(difference_.before.step),
                               step_text(difference_.after.step));
  std::string first;
  if (!difference_.beyond_noise()) {
    first = fmt::format("No difference larger than noise: {} ({:+.1f} %).", both,
                        difference_.percent());
  } else {
    first = fmt::format("{:.1f} % {}: {}", std::max(difference_.percent(), -difference_.percent()),
                        difference_.change > Duration() ? "slower"
                        : all_reduce                    ? "faster"
                                                        : "shorter",
                        both);
    const DifferenceRow* most = nullptr;
    for (const DifferenceRow& row : difference_.rows)
      if ((row.change > Duration()) == (difference_.change > Duration()) &&
          row.change != Duration() &&
          (most == nullptr || without_sign(row.change) > without_sign(most->change)))
        most = &row;
    const bool told =
        most != nullptr && !all_reduce && most->part != part_of(LossCause::unexplained);
    if (told)
      first += fmt::format("; most of it {}: {}{}{}", label_of(most->part, difference_.after),
                           most->bound_of_change == Bound::upper   ? "at most "
                           : most->bound_of_change == Bound::lower ? "at least "
                                                                   : "",
                           signed_time(most->change, unit_),
                           most->bound != Bound::none && most->bound_of_change == Bound::none
                               ? ", from bounds only"
                               : "");
    else if (!all_reduce)
      first += "; neither side shows which part of the step changed";
    first += '.';
  }
  // The verdict stays on one line, because --quiet prints only that line.
  text_ += bold(first + '\n', style_);
}

void DifferenceText::sides() {
  const auto side = [&](std::string_view name, const DifferenceSide& of,
                        const StepBreakdown& breakdown) {
    std::string line = fmt::format("{}: {}, {}", name, printable(of.source), of.kind);
    if (of.samples_per_step_per_gpu)
      line += fmt::format(
          "; {} samples/s per GPU",
          significant(*of.samples_per_step_per_gpu / breakdown.step.seconds(), kDifferenceDigits));
    if (const auto efficiency = efficiency_percent(breakdown))
      line += fmt::format("; {:.1f} % of the step is the model's kernels", *efficiency);
    if (breakdown.steps > 1) line += fmt::format("; {} steps", breakdown.steps);
    text_ += dim(wrapped(line + ".", style_.width, 2), style_);
  };
  side("before", report_.before, difference_.before);
  side("now", report_.after, difference_.after);
}

std::string DifferenceText::all_reduce_words() const {
  const AllReduceChanges& changes = *report_.all_reduces;
  const SizeChange& one = changes.one();
  std::string words = fmt::format("all-reduce of {} bytes ", one.size.count());
  if (changes.by_busbw())
    words += fmt::format(
        "at {} GB/s bus bandwidth on {} ranks before, {} on {} now",
        significant(*known_busbw(one.size, one.before, changes.ranks_before), kDifferenceDigits),
        changes.ranks_before,
        significant(*known_busbw(one.size, one.after, changes.ranks_after), kDifferenceDigits),
        changes.ranks_after);
  else
    words += fmt::format("{} before, {} now", time_text(one.before, kDifferenceDigits, unit_),
                         time_text(one.after, kDifferenceDigits, unit_));
  if (changes.sizes.size() > 1 && changes.slower() + changes.faster() > 0)
    words += fmt::format("; {} of {} sizes are faster and {} slower by more than {:.0f} %",
                         changes.faster(), changes.sizes.size(), changes.slower(),
                         100 * (kClearChange - 1));
  return words;
}

/// Lowers the first letter to continue a sentence: "the host does more …". Acronyms such as DDP
/// stay as they are.
std::string within_sentence(std::string words) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (words.size() > 1 && is_upper(words[0]) && !is_upper(words[1]))
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  return words;
}

void DifferenceText::causes() {
  if (report_.causes.empty()) return;
  text_ += '\n';
  paragraph("Possible causes, most likely first:");
  const std::size_t all = report_.causes.size();
  const std::size_t most = style_.most_lines == 0 ? all : std::min(all, kMostCauses);
  const auto words = [&](CauseClass what) {
    const bool shorter = difference_.beyond_noise() && difference_.change < Duration();
    return cause_words(what, shorter ? StepChange::shorter : StepChange::longer);
  };
  std::size_t told = 0;
  for (int number = 1; told < most; ++number) {
    const std::vector<std::string>& evidence = report_.causes[told].evidence;
    // Causes with the same evidence share a line, because the evidence cannot tell them apart.
    const std::size_t first = told;
    while (told < all && report_.causes[told].evidence == evidence) ++told;
    std::string either = words(report_.causes[first].what);
    const std::size_t named = style_.most_lines == 0 ? told : std::min(told, first + kMostCauses);
    for (std::size_t i = first + 1; i < named; ++i)
      either += ", or " + within_sentence(words(report_.causes[i].what));
    if (named < told) either += fmt::format(", or {} others (--verbose, --json)", told - named);
    paragraph(fmt::format("{}. {}: {}", number, either,
                          printable(fmt::to_string(fmt::join(evidence, "; ")))),
              3);
  }
  for (const ExcludedCause& one : report_.excluded)
    if (style_.most_lines == 0)
      paragraph(fmt::format("Ruled out: {}: {}", words(one.what), printable(one.says)), 3);
  if (report_.causes.size() > told)
    paragraph(fmt::format("   … and {} more (--verbose, --json).", report_.causes.size() - told),
              3);
  paragraph(fmt::format("To decide{}: {}.",
                        report_.causes.size() > 1 ? " between the first two" : "",
                        report_.causes.front().decide_by));
}

void DifferenceText::findings() {
  if (report_.findings.empty()) return;
  text_ += '\n';
  for (const Finding& finding : report_.findings)
    paragraph(fmt::format("found: {} ({})", printable(finding.says), printable(finding.place)), 7);
}

void DifferenceText::notes() {
  for (const std::string& one : difference_.missing) paragraph("missing: " + printable(one), 9);
  for (const std::string& warning : report_.warnings)
    paragraph("warning: " + printable(warning), 9);
}

}  // namespace

std::string difference_text(const DifferenceReport& report, const TerminalStyle& style) {
  return DifferenceText(report, style).run();
}

std::string slowdown_words(const DifferenceReport& report) {
  const Slowdown& slowdown = *report.limit->exceeded;
  std::string text = fmt::format("{:.2f} % slower{}, above --max-slowdown {:g}%", slowdown.percent,
                                 report.limit->size ? " at " + size_text(*report.limit->size) : "",
                                 report.limit->percent);
  if (slowdown.row)
    text += fmt::format("; most of it {}: {}", name_of(slowdown.row->part),
                        "+" + time_text(slowdown.row->change, kDifferenceDigits));
  if (!report.difference.beyond_noise())
    text += "; two runs of the same job may differ by that much";
  return text;
}

}  // namespace ddpsim
