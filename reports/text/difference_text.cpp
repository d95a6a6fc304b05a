#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cause_words.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "loss_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostCauses = 4;  ///< shown where not all was asked for
constexpr int kDigits = 3;

Duration size_of(Duration time) {
  return std::max(time, -time);
}

std::string label_of(StepPart part, const StepBreakdown& after) {
  if (part == StepPart::kernels) return "the model's kernels";
  if (part == StepPart::all_reduce_transfer) return "all-reduce transfer";
  if (part == part_of(LossCause::slowest_gpu))
    return after.waited_for ? fmt::format("waiting for rank {}", *after.waited_for)
                            : "waiting for other ranks";
  if (part == part_of(LossCause::launch_bound)) return "launch gaps (host)";
  if (part == part_of(LossCause::copies)) return "DDP's copies";
  if (part == part_of(LossCause::unexplained)) return "unexplained";
  return std::string(
      label_of(static_cast<LossCause>(index_of(part) - index_of(StepPart::first_cause))));
}

/// Where lateness that stays with ranks comes from, by the part of their own step that is longest beside the others':
/// of one rank, of all ranks of a node, of the same slot on each node, of other ranks. What is missing here is DDP's doing.
struct LateWork {
  StepPart part;
  std::string_view of_rank;
  std::string_view of_node;
  std::string_view of_slot;
  std::string_view of_several;
};
constexpr std::array kLateWork = {
    LateWork{StepPart::kernels, "its node or its slot, not the data", "the node", "the slot",
             "their nodes or their slots, not the data"},
    LateWork{part_of(LossCause::launch_bound), "its host, not the data", "the host of that node",
             "the cores of that slot", "their hosts, not the data"},
    LateWork{part_of(LossCause::input), "its input: its data, its loader or its host",
             "the input of that node: its loaders, its host or its storage",
             "the input of that slot: its data, its loaders or their cores",
             "their input: their data, their loaders or their hosts"},
    LateWork{part_of(LossCause::unexplained),
             "its node, its slot or its script; no part of its step tells which", "the node",
             "the slot", "their nodes, their slots or their script; no part of a step tells which"},
};

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
      waterfall();
      sizes();
      kernels();
    } else {
      evidence_alone();
    }
    causes();
    findings();
    late();
    pairs();
    notes();
    return std::move(text_);
  }

 private:
  void paragraph(const std::string& text, std::size_t indent = 0) {
    text_ += wrapped(text, style_.width, indent);
  }
  std::string signed_time(Duration time) const {
    const std::string text = time_text(size_of(time), kDigits, unit_);
    return (time < Duration() ? "-" : "+") + text;
  }
  /// Enough for the largest change and for the noise.
  int decimals() const {
    Duration largest = difference_.noise;
    for (const DifferenceRow& row : difference_.rows)
      largest = std::max(largest, size_of(row.change));
    return decimals_for(in_unit(largest, unit_));
  }
  /// Three digits, or as many as the table below shows.
  std::string step_text(Duration step) const {
    const std::string digits = time_number(step, kDigits, unit_);
    const std::string as_in_table = fixed(in_unit(step, unit_), decimals_);
    return fmt::format("{} {}", digits.size() > as_in_table.size() ? digits : as_in_table,
                       name_of(unit_));
  }
  void evidence_alone();
  void verdict();
  void sides();
  void waterfall();
  void sizes();
  std::string all_reduce_words() const;
  void kernels();
  void causes();
  void findings();
  std::string where_to_look() const;
  void late();
  void pairs();
  void notes();

  const DifferenceReport& report_;
  const StepDifference& difference_;
  const TerminalStyle& style_;
  const TimeUnit unit_;
  const int decimals_;  ///< of step times and of what they are split into
  std::string text_;
};

void DifferenceText::evidence_alone() {
  const std::size_t count = report_.findings.size();
  std::string first = "No times to compare";
  if (report_.compared.empty())
    first += ", and no kind of evidence is on both sides";
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
          (most == nullptr || size_of(row.change) > size_of(most->change)))
        most = &row;
    const bool told =
        most != nullptr && !all_reduce && most->part != part_of(LossCause::unexplained);
    if (told)
      first += fmt::format("; most of it {}: {}{}{}", label_of(most->part, difference_.after),
                           most->bound_of_change == Bound::upper   ? "at most "
                           : most->bound_of_change == Bound::lower ? "at least "
                                                                   : "",
                           signed_time(most->change),
                           most->bound != Bound::none && most->bound_of_change == Bound::none
                               ? ", of bounds alone"
                               : "");
    else if (!all_reduce)
      first += "; what takes that time, these two do not record";
    first += '.';
  }
  text_ += bold(first + '\n', style_);  // one line, which --quiet prints alone
}

void DifferenceText::sides() {
  const auto side = [&](std::string_view name, const DifferenceSide& of,
                        const StepBreakdown& breakdown) {
    std::string line = fmt::format("{}: {}, {}", name, printable(of.source), of.kind);
    if (of.samples_per_step_per_gpu)
      line += fmt::format(
          "; {} samples/s per GPU",
          significant(*of.samples_per_step_per_gpu / breakdown.step.seconds(), kDigits));
    if (const auto efficiency = efficiency_percent(breakdown))
      line += fmt::format("; {:.1f} % of the step is the model's kernels", *efficiency);
    if (breakdown.steps > 1) line += fmt::format("; {} steps", breakdown.steps);
    text_ += dim(wrapped(line + ".", style_.width, 2), style_);
  };
  side("before", report_.before, difference_.before);
  side("now", report_.after, difference_.after);
}

void DifferenceText::waterfall() {
  if (report_.before.all_reduce) return;
  const auto shown = [&](Duration time) { return fixed(in_unit(time, unit_), decimals_); };
  std::vector<double> parts;
  std::vector<DifferenceRow> rows = difference_.rows;
  std::erase_if(rows, [&](const DifferenceRow& row) {
    const auto nothing = [&](Duration time) {
      return rounds_to_zero(in_unit(time, unit_), decimals_);
    };
    return nothing(row.before) && nothing(row.after) && row.bound == Bound::none &&
           row.part != part_of(LossCause::unexplained);
  });
  for (const DifferenceRow& row : rows) parts.push_back(in_unit(row.change, unit_));
  std::size_t kept = 0;  // the unexplained takes what rounding leaves, where it is there
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].part == part_of(LossCause::unexplained)) kept = i;
  const std::vector<std::string> changes =
      adding_up(parts, in_unit(difference_.change, unit_), decimals_, kept);
  const bool expected = report_.expected_change.has_value();
  const bool points = difference_.before.parts_known && difference_.after.parts_known;
  std::vector<Column> columns = {{"where the step changed"},
                                 {"before", Align::right, 3},
                                 {"now", Align::right, 3},
                                 {std::string(name_of(unit_)), Align::right},
                                 {"may be", Align::left, 2}};
  if (points) columns.push_back({"points", Align::right, 1});
  if (expected) columns.push_back({"expected", Align::right, 1});
  Table table(columns);
  const auto signed_number = [](const std::string& number) {
    return number.starts_with('-') ? number : "+" + number;
  };
  const auto line = [&](const std::string& label, Duration before, Duration now, std::string change,
                        std::string interval, std::string of_points,
                        std::optional<Duration> model) {
    std::vector<std::string> cells = {label, shown(before), shown(now), std::move(change),
                                      std::move(interval)};
    if (points) cells.push_back(std::move(of_points));
    if (expected) cells.push_back(model ? signed_number(shown(*model)) : "");
    table.add_row(std::move(cells));
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DifferenceRow& row = rows[i];
    const std::string bound = row.bound == Bound::upper   ? " (at most)"
                              : row.bound == Bound::lower ? " (at least)"
                                                          : "";
    line(label_of(row.part, difference_.after) + bound, row.before, row.after,
         signed_number(changes[i]),
         fmt::format("{} to {}", signed_number(shown(row.low)), signed_number(shown(row.high))),
         fmt::format("{:+.1f}", row.points), row.expected);
  }
  double sum = 0;
  for (const DifferenceRow& row : rows) sum += row.points;
  line("step", difference_.before.step, difference_.after.step,
       signed_number(fixed(in_unit(difference_.change, unit_), decimals_)),
       fmt::format("noise {}", shown(difference_.noise)), fmt::format("{:+.1f}", sum),
       report_.expected_change);
  text_ += '\n' + table.text(style_);
  if (points) {
    const auto& a = difference_.before.kernels;
    const auto& b = difference_.after.kernels;
    paragraph(fmt::format("The model's kernels by phase: forward {}, backward {}, optimizer {}.",
                          signed_time(b.forward - a.forward), signed_time(b.backward - a.backward),
                          signed_time(b.optimizer - a.optimizer)));
  }
  if (!report_.expected_of.empty())
    paragraph(fmt::format("Expected: {}.", printable(report_.expected_of)));
}

std::string DifferenceText::all_reduce_words() const {
  const AllReduceChanges& changes = *report_.all_reduces;
  const SizeChange& one = changes.one();
  std::string words = fmt::format("all-reduce of {} bytes ", one.size.count());
  if (changes.by_busbw())
    words +=
        fmt::format("at {} GB/s bus bandwidth on {} ranks before, {} on {} now",
                    significant(*known_busbw(one.size, one.before, changes.ranks_before), kDigits),
                    changes.ranks_before,
                    significant(*known_busbw(one.size, one.after, changes.ranks_after), kDigits),
                    changes.ranks_after);
  else
    words += fmt::format("{} before, {} now", time_text(one.before, kDigits, unit_),
                         time_text(one.after, kDigits, unit_));
  if (changes.sizes.size() > 1 && changes.slower() + changes.faster() > 0)
    words += fmt::format("; of {} sizes {} faster and {} slower by more than {:.0f} %",
                         changes.sizes.size(), changes.faster(), changes.slower(),
                         100 * (kClearChange - 1));
  return words;
}

/// The sizes that changed most, faster and slower ones, by size.
void DifferenceText::sizes() {
  if (!report_.all_reduces) return;
  const AllReduceChanges& changes = *report_.all_reduces;
  std::vector<const SizeChange*> shown;
  for (const bool slower : {true, false}) {
    std::vector<const SizeChange*> ones;
    for (const SizeChange& one : changes.sizes)
      if (one.clear && (one.growth > 1) == slower) ones.push_back(&one);
    std::ranges::stable_sort(ones, [&](const SizeChange* a, const SizeChange* b) {
      return slower ? a->growth > b->growth : a->growth < b->growth;
    });
    constexpr std::size_t kMostSizes = 4;
    if (style_.most_lines != 0 && ones.size() > kMostSizes) ones.resize(kMostSizes);
    shown.insert(shown.end(), ones.begin(), ones.end());
  }
  if (shown.size() < 2) return;
  std::ranges::sort(shown, {}, [](const SizeChange* one) { return one->size; });
  Table table({{"all-reduces that changed most"},
               {"before", Align::right, 3},
               {"now", Align::right, 3},
               {"busbw before", Align::right, 2},
               {"now (GB/s)", Align::right, 2},
               {"change", Align::right}});
  const auto busbw = [](Bytes size, Duration time, int ranks) {
    const auto gbps = known_busbw(size, time, ranks);
    return gbps ? significant(*gbps, kDigits) : std::string("-");
  };
  for (const SizeChange* one : shown)
    table.add_row({size_text(one->size), time_text(one->before, kDigits),
                   time_text(one->after, kDigits),
                   busbw(one->size, one->before, changes.ranks_before),
                   busbw(one->size, one->after, changes.ranks_after),
                   fmt::format("{:.1f} % {}", 100 * std::abs(one->growth - 1),
                               one->growth > 1 ? "slower" : "faster")});
  text_ += '\n' + table.text(style_);
}

void DifferenceText::kernels() {
  if (!report_.kernels || report_.kernels->rows.empty()) return;
  Table table({{"kernels by kind, DDP's copies too"},
               {"before", Align::right},
               {"now", Align::right},
               {std::string(name_of(unit_)), Align::right},
               {"number before", Align::right, 2},
               {"now", Align::right, 1}});
  Duration largest;
  for (const auto& row : report_.kernels->rows)
    largest = std::max(largest, size_of(row.after.time - row.before.time));
  const int decimals = decimals_for(in_unit(largest, unit_));
  const std::size_t most = style_.most_lines == 0 ? report_.kernels->rows.size() : 5;
  for (std::size_t i = 0; i < std::min(most, report_.kernels->rows.size()); ++i) {
    const KernelComparison::Row& row = report_.kernels->rows[i];
    const double change = in_unit(row.after.time - row.before.time, unit_);
    table.add_row(
        {std::string(name_of(row.kind)), fixed(in_unit(row.before.time, unit_), decimals),
         fixed(in_unit(row.after.time, unit_), decimals), fmt::format("{:+.{}f}", change, decimals),
         fmt::format("{:.0f}", row.before.count), fmt::format("{:.0f}", row.after.count)});
  }
  text_ += '\n' + table.text(style_);
}

/// As it goes on within a sentence: "the host does more …", "DDP is set up otherwise".
std::string within_sentence(std::string words) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (words.size() > 1 && is_upper(words[0]) && !is_upper(words[1]))
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  return words;
}

void DifferenceText::causes() {
  if (report_.causes.empty()) return;
  text_ += '\n';
  paragraph("Possible causes, the likeliest first:");
  const std::size_t all = report_.causes.size();
  const std::size_t most = style_.most_lines == 0 ? all : std::min(all, kMostCauses);
  const auto words = [&](CauseClass what) {
    const bool shorter = difference_.beyond_noise() && difference_.change < Duration();
    return cause_words(what, shorter ? StepChange::shorter : StepChange::longer);
  };
  std::size_t told = 0;
  for (int number = 1; told < most; ++number) {
    const std::vector<std::string>& evidence = report_.causes[told].evidence;
    // Causes that the same speaks for are one line: which of them it is, it does not tell.
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
      paragraph(fmt::format("Not so: {}: {}", words(one.what), printable(one.says)), 3);
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

/// Follows the part of its own step that is longest beside other ranks', which the table below names.
std::string DifferenceText::where_to_look() const {
  const LateRanks& late = *report_.late;
  const std::optional<StepPart> work =
      std::ranges::find(late.ranks, late.late.front(), &LateRank::rank)->work;
  const auto row =
      std::ranges::find(kLateWork, work.value_or(part_of(LossCause::unexplained)), &LateWork::part);
  if (row == kLateWork.end())
    return fmt::format("by {}, so not for {} own slowness", label_of(*work, difference_.after),
                       late.pattern == LatePattern::one_rank ? "its" : "their");
  switch (late.pattern) {
    case LatePattern::node:
      return std::string(row->of_node);
    case LatePattern::slot:
      return std::string(row->of_slot);
    case LatePattern::several:
      return std::string(row->of_several);
    default:
      return std::string(row->of_rank);
  }
}

void DifferenceText::late() {
  if (!report_.late) return;
  const LateRanks& late = *report_.late;
  std::vector<LateRank> order = late.ranks;
  std::ranges::stable_sort(
      order, [](const LateRank& a, const LateRank& b) { return a.caused > b.caused; });
  text_ += '\n';
  std::string first;
  const std::string ranks = fmt::to_string(fmt::join(late.late, ", "));
  switch (late.pattern) {
    case LatePattern::nobody:
      first = "Who is late: nobody; ranks wait for each other less than 1 % of a step";
      break;
    case LatePattern::one_rank:
      first = fmt::format("Who is late: rank {}, in nearly every step: {}", ranks, where_to_look());
      break;
    case LatePattern::several:
      first = fmt::format(
          "Who is late: ranks {}, in nearly every step: {}. They are not known to be one node of "
          "several or one slot (--gpus-per-node tells which ranks share one)",
          ranks, where_to_look());
      break;
    case LatePattern::node:
      first = fmt::format("Who is late: ranks {}, all of one node: {}", ranks, where_to_look());
      break;
    case LatePattern::slot:
      first = fmt::format("Who is late: ranks {}, the same place on each node: {}", ranks,
                          where_to_look());
      break;
    case LatePattern::wandering:
      first = "Who is late: another rank in each step: the data, or chance";
      break;
    case LatePattern::unknown:
      first = fmt::format("Who is late: rank {} in what was recorded; {} tell no node from data",
                          order.front().rank, counted(late.steps, "step"));
      break;
  }
  paragraph(first + (late.complete
                         ? "."
                         : ". Not all ranks were recorded: the last may be one that is missing."));
  if (late.pattern == LatePattern::nobody) return;
  Table table({{"rank"},
               {"last in", Align::right},
               {"others wait", Align::right},
               {"it waits", Align::right},
               {"longer than the others in", Align::left, 1}});
  const std::size_t most =
      style_.most_lines == 0 ? order.size() : std::min<std::size_t>(order.size(), 8);
  for (std::size_t i = 0; i < most; ++i) {
    const LateRank& rank = order[i];
    std::string work;
    if (rank.work)
      work = fmt::format("{}{}, {}", rank.phase.empty() ? "" : std::string(rank.phase) + " ",
                         name_of(*rank.work), time_text(rank.longer, kDigits, unit_));
    table.add_row(
        {std::to_string(rank.rank), fmt::format("{} of {}", rank.times_last, late.collectives),
         time_text(rank.caused, kDigits, unit_), time_text(rank.waited, kDigits, unit_), work});
  }
  text_ += table.text(style_);
  for (const RankCollectiveLine& one : report_.collectives) {
    if (style_.most_lines != 0) break;  // --verbose
    std::string waits;
    for (const auto& [rank, wait] : one.waits)
      waits += fmt::format("{}{}: {}", waits.empty() ? "" : ", ", rank, time_text(wait, kDigits));
    paragraph(fmt::format("{}{}: transfer {}, rank {} last; waits {}", one.operation,
                          one.bytes ? fmt::format(" of {} bytes", one.bytes->count()) : "",
                          time_text(one.transfer, kDigits), one.last_rank, waits),
              2);
  }
}

void DifferenceText::pairs() {
  if (!report_.pairs) return;
  const PairVerdict verdict = judge_pairs(*report_.pairs);
  text_ += '\n';
  std::string line = fmt::format("Pairs of nodes: fastest {} GB/s, {} of {} below {:.0f} % of it",
                                 significant(verdict.fastest_gbps, kDigits), verdict.slow.size(),
                                 report_.pairs->pairs.size(), 100 * kSlowPair);
  if (!verdict.slow_nodes.empty())
    line += fmt::format("; slow: node{} {} (the other node of each such pair is fast with another)",
                        verdict.slow_nodes.size() > 1 ? "s" : "",
                        printable(fmt::to_string(fmt::join(verdict.slow_nodes, ", "))));
  if (verdict.groups.found()) line += "; " + printable(group_words(verdict.groups));
  const auto joined = [&](const PairBandwidth& pair) {  // the groups tell of it
    return std::ranges::none_of(verdict.groups.groups, [&](const auto& names) {
      return std::ranges::count(names, pair.a) > 0 && std::ranges::count(names, pair.b) > 0;
    });
  };
  for (const PairBandwidth& pair : verdict.slow_paths)
    if (!verdict.groups.found() || !joined(pair))
      line += fmt::format("; the path between {} and {}: both are fast with another",
                          printable(pair.a), printable(pair.b));
  for (const PairBandwidth& pair : verdict.undecided)
    line +=
        fmt::format("; {} or {}: neither is fast with any{}", printable(pair.a), printable(pair.b),
                    verdict.fast_nodes.empty()
                        ? ""
                        : ", measure each with " + printable(verdict.fast_nodes.front()));
  paragraph(line + ".");
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
                        "+" + time_text(slowdown.row->change, kDigits));
  if (!report.difference.beyond_noise()) text += "; within what two runs of one thing differ by";
  return text;
}

}  // namespace ddpsim
