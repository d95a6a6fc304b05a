#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "advice_lines.hpp"
#include "budget_lines.hpp"
#include "ddpsim/reports/reports.hpp"
#include "recorded_lines.hpp"
#include "report_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

/// Rows of each table on the first screen; --verbose shows all.
constexpr std::size_t kMostShown = 4;
constexpr double kNoEffect = 1e-4;  // share of a step

std::string settings_words(const AdviceRow& row) {
  return fmt::format("{}", fmt::join(row.settings, " + "));
}

/// "Set static_graph=True"; "Unset NCCL_ALGO" if the setting removes one NCCL variable.
std::string order(const AdviceRow& row) {
  constexpr std::string_view kUnset = " unset";
  const std::string text = settings_words(row);
  return row.settings.size() == 1 && text.ends_with(kUnset)
             ? "Unset " + text.substr(0, text.size() - kUnset.size())
             : "Set " + text;
}

class AdvicePage {
 public:
  AdvicePage(const AdviceReport& report, const TerminalStyle& style)
      : report_(report),
        advice_(report.advice),
        context_(report.context),
        trust_(context_.trust),
        style_(style),
        digits_(digits_of(trust_.confidence.grade)),
        unit_(unit_for(advice_.iteration)) {}

  std::string text() const {
    Page page;
    // A job that does not fit in memory never runs, so no wait is named.
    const AdviceRow* doubted = first_doubted();
    const Help help =
        doubted != nullptr && !doubted->by_hand.empty() ? Help::in_the_answer : Help::said_here;
    const std::string wait = report_.does_not_fit.empty()
                                 ? wait_first(context_, report_.step, digits_, unit_, help)
                                 : "";
    page.add(Weight::verdict, bold(wait + verdict(), style_) + '\n' + lines_to_paste());
    page.add(Weight::trust, dim(subject(context_), style_) + '\n');
    page.add(Weight::trust, replay_line(trust_, style_));
    page.add(Weight::trust, recorded_line(context_, style_));
    page.add(Weight::trust, budget_line(trust_, report_.step.budget, style_));
    page.add(Weight::answer, interval_line(trust_.confidence, advice_.iteration, style_));
    add_warnings(page, trust_.warnings, style_);
    page.add(Weight::evidence, setting_line(setting_text(context_), style_));
    page.add(Weight::answer, table("Leaves gradients as they are", false));
    page.add(Weight::answer,
             table("Changes numerics (gradients, or what the optimizer sees)", true));
    page.add(Weight::answer, after_blank(notes()));
    page.add(Weight::evidence, measure_first());
    page.add(Weight::evidence, not_worth());
    page.add(Weight::more, after_blank(interval_reasons(trust_.confidence, style_)));
    page.add(Weight::next, hint_line(report_.next_command, style_));
    return page.text(style_);
  }

 private:
  std::string time(Duration duration) const { return time_text(duration, digits_, unit_); }

  std::string gain_clause(const AdviceRow& row) const {
    const GainText gain = gain_text(row.gain, digits_, unit_);
    return fmt::format("saves {0} {3} of {1} (80 % interval {2} {3}; {4})", gain.value,
                       time(advice_.iteration), gain.interval, name_of(unit_),
                       trust_.confidence.provenance);
  }

  /// Whether the gain is too small to be measured: all of it may be the profiler's effect.
  bool may_be_nothing(const AdviceRow& row) const { return row.gain.value < advice_.measurable; }

  /// "8 ms", "up to 160 ms".
  std::string saving(const AdviceRow& row) const {
    return may_be_nothing(row)
               ? "up to " + time(row.gain.high)
               : fmt::format("{} {}", gain_text(row.gain, digits_, unit_).value, name_of(unit_));
  }

  /// "bucket_cap_mb=100 may save 8 ms of 154 ms (80 % interval 1 to 12 ms), but …"
  std::string may_save(const AdviceRow& row) const {
    const std::string interval = fmt::format(
        " (80 % interval {} {})", gain_text(row.gain, digits_, unit_).interval, name_of(unit_));
    return fmt::format("{} may save {} of {}{}, but {}", settings_words(row), saving(row),
                       time(advice_.iteration), may_be_nothing(row) ? "" : interval, row.doubt);
  }

  /// The best single setting that changes numerics but not the batch, if it is expected to gain
  /// measurably more; else null.
  const AdviceRow* better_with_numerics() const {
    const AdviceRow* best = advice_.best();
    const Duration least = (best ? best->expected : Duration()) + advice_.measurable;
    const auto row = std::ranges::find_if(advice_.rows, [](const AdviceRow& one) {
      return one.worth && one.changes_numerics && !one.changes_batch && one.settings.size() == 1;
    });
    if (row == advice_.rows.end() || row->expected < least) return nullptr;
    // The printed value is the predicted gain, not the expected one, so that one must be larger as
    // well.
    return best == nullptr || row->gain.value > best->gain.value ? &*row : nullptr;
  }

  /// The first row that needs a measurement before it is advised and leaves numerics as they are;
  /// else null.
  const AdviceRow* first_doubted() const {
    const auto row = std::ranges::find_if(advice_.rows, [](const AdviceRow& one) {
      return !one.doubt.empty() && !one.changes_numerics;
    });
    return row == advice_.rows.end() ? nullptr : &*row;
  }

  std::string does_not_fit() const {
    return "The current job does not fit: it " + report_.does_not_fit;
  }

  std::string verdict() const {
    if (trust_.replay && trust_.replay->contradicted())
      return fmt::format(
          "Nothing is advised: the current step was measured at {} but replayed at {}: another job "
          "was recorded, or the unit is wrong.",
          time_text(trust_.replay->measured, 3), time(advice_.iteration));
    if (!advice_.rows.empty() &&
        std::ranges::all_of(advice_.rows, [](const AdviceRow& row) { return !row.error.empty(); }))
      return (report_.does_not_fit.empty() ? "Nothing fits" : does_not_fit()) +
             ". No setting of DDP makes it fit. " +
             (report_.would_fit.empty() ? "Shard it: `ddpsim compare` with --scheme fsdp2"
                                        : report_.would_fit) +
             '.';
    const AdviceRow* best = advice_.best();
    const AdviceRow* doubted = first_doubted();
    const AdviceRow* more = better_with_numerics();
    std::string text = report_.does_not_fit.empty() ? "" : does_not_fit() + ". ";
    if (best != nullptr && doubted != nullptr && doubted->expected > best->expected)
      text += fmt::format("Measure first: {}. ", may_save(*doubted));
    text += best != nullptr ? fmt::format("{}: {}.", order(*best), gain_clause(*best))
            : doubted != nullptr
                ? fmt::format("Keep the current settings until you have measured: {}.",
                              may_save(*doubted))
                : fmt::format("{} saves {} of {}, the least that can be measured.",
                              more ? "No setting that leaves numerics as they are"
                                   : "Nothing worth changing: no setting",
                              time(advice_.measurable), time(advice_.iteration));
    if (more)
      text += fmt::format(" {}{} {}, but changes numerics.", settings_words(*more),
                          best == nullptr ? "" : " alone",
                          best == nullptr ? gain_clause(*more) : "saves " + time(more->gain.value));
    return text;
  }

  std::string lines_to_paste() const {
    const AdviceRow* best = advice_.best();
    if (best == nullptr) return "";
    std::string lines = "\n";
    std::string rest = best->line;
    for (std::size_t end; (end = rest.find("; ")) != std::string::npos; rest.erase(0, end + 2))
      lines += "    " + bold(rest.substr(0, end), style_) + '\n';
    return lines + "    " + bold(rest, style_) + "\n\n";
  }

  bool shown(const AdviceRow& row) const { return row.worth || !row.error.empty(); }

  std::string table(const std::string& head, bool numerics) const {
    const std::string suffix = fmt::format(" {}", name_of(unit_));
    Table table({{"saves" + suffix, Align::decimal},
                 {"80 % interval", Align::right, 2},
                 {"memory", Align::right, 1},
                 {head, Align::left, 0, true}});
    std::size_t rows = 0;
    for (const AdviceRow& row : advice_.rows) {
      if (row.changes_numerics != numerics || !shown(row)) continue;
      if (style_.most_lines > 0 && rows == kMostShown) break;
      ++rows;
      if (!row.error.empty()) {
        table.add_row({"-", "", "", settings_words(row) + ": " + row.error});
        continue;
      }
      GainText gain = gain_text(row.gain, digits_, unit_);
      table.add_row({std::move(gain.value), std::move(gain.interval), memory_text(row.memory_bytes),
                     settings_words(row)});
    }
    return rows == 0 ? "" : '\n' + table.text(style_);
  }

  static std::string memory_text(std::int64_t bytes) {
    constexpr double kMiB = 1'048'576;
    const double mib = static_cast<double>(bytes) / kMiB;
    return mib > -1 && mib < 1 ? "0" : fmt::format("{:+.0f} MiB", mib);
  }

  /// What else the advised setting changes.
  std::string notes() const {
    const AdviceRow* best = advice_.best();
    if (best == nullptr || best->note.empty()) return "";
    return wrapped(fmt::format("Side effects: {}.", best->note), style_.width, 2);
  }

  /// Settings that may gain but need a measurement first. The verdict names the first of them.
  std::string measure_first() const {
    std::vector<std::string> rows;
    for (const AdviceRow& row : advice_.rows)
      if (!row.doubt.empty())
        rows.push_back(fmt::format("{} ({}): {}", settings_words(row), saving(row), row.doubt));
    if (rows.empty()) return "";
    return wrapped(fmt::format("Measure first (scripts/ab.py runs both alternately): {}.",
                               fmt::join(rows, "; ")),
                   style_.width, 2);
  }

  std::string not_worth() const {
    const Duration least = advice_.iteration.scaled(kNoEffect);
    std::vector<std::string> little;
    std::vector<std::string> nothing;
    for (const AdviceRow& row : advice_.rows) {
      if (shown(row) || !row.doubt.empty()) continue;
      const Duration size = std::max(row.gain.value, -row.gain.value);
      if (size < least)
        nothing.push_back(settings_words(row));
      else
        little.push_back(fmt::format("{} ({} {})", settings_words(row),
                                     row.gain.value < Duration() ? "costs" : "saves", time(size)));
    }
    const auto line = [&](const char* what, const std::vector<std::string>& names) {
      return names.empty()
                 ? std::string()
                 : wrapped(fmt::format("{}: {}.", what, fmt::join(names, ", ")), style_.width, 2);
    };
    return line("Not worth it here", little) + line("No effect here", nothing);
  }

  const AdviceReport& report_;
  const Advice& advice_;
  const ReportContext& context_;
  const Trust& trust_;
  const TerminalStyle& style_;
  int digits_;
  TimeUnit unit_;
};

}  // namespace

std::string advice_text(const AdviceReport& report, const TerminalStyle& style) {
  return AdvicePage(report, style).text();
}

}  // namespace ddpsim
