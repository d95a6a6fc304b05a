#include "late_rank_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "difference_words.hpp"

namespace ddpsim {
namespace {

/// The places to look at if the same ranks are always late, by the part of their step that exceeds
/// the other ranks' most. There is a text for one rank, all ranks of a node, the same GPU slot on
/// each node, and other groups of ranks. Parts that are missing here are caused by DDP.
struct LateWork {
  StepPart part;
  std::string_view of_rank;
  std::string_view of_node;
  std::string_view of_slot;
  std::string_view of_several;
};
constexpr std::array kLateWork = {
    LateWork{StepPart::kernels, "look at its node or its GPU slot, not at the data",
             "look at the node", "look at the GPU slot",
             "look at their nodes or GPU slots, not at the data"},
    LateWork{part_of(LossCause::launch_bound), "look at its host, not at the data",
             "look at the host of that node", "look at the cores of that GPU slot",
             "look at their hosts, not at the data"},
    LateWork{part_of(LossCause::input), "look at its input: its data, its loader or its host",
             "look at the input of that node: its loaders, its host or its storage",
             "look at the input of that GPU slot: its data, its loaders or their cores",
             "look at their input: their data, their loaders or their hosts"},
    LateWork{part_of(LossCause::unexplained),
             "look at its node, its GPU slot or its script; no part of its step tells which",
             "look at the node", "look at the GPU slot",
             "look at their nodes, GPU slots or script; no part of a step tells which"},
};

/// Where to look, judged by the part of the late rank's step that exceeds other ranks' most. The
/// table below names it.
std::string where_to_look(const LateRanks& late, const StepBreakdown& after) {
  const std::optional<StepPart> work =
      std::ranges::find(late.ranks, late.late.front(), &LateRank::rank)->work;
  const auto row =
      std::ranges::find(kLateWork, work.value_or(part_of(LossCause::unexplained)), &LateWork::part);
  if (row == kLateWork.end())
    return fmt::format("the cause is {}, not {} own speed", label_of(*work, after),
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

/// `order`: the rank that others waited for longest comes first.
std::string who_is_late(const LateRanks& late, const std::vector<LateRank>& order,
                        const StepBreakdown& after) {
  const std::string ranks = fmt::to_string(fmt::join(late.late, ", "));
  switch (late.pattern) {
    case LatePattern::nobody:
      return "nobody; ranks wait for each other less than 1 % of a step";
    case LatePattern::one_rank:
      return fmt::format("rank {}, in nearly every step: {}", ranks, where_to_look(late, after));
    case LatePattern::several:
      return fmt::format(
          "ranks {}, in nearly every step: {}. ddpsim does not know whether they share a node or a "
          "GPU slot (pass --gpus-per-node)",
          ranks, where_to_look(late, after));
    case LatePattern::node:
      return fmt::format("ranks {}, all of one node: {}", ranks, where_to_look(late, after));
    case LatePattern::slot:
      return fmt::format("ranks {}, the same GPU slot on each node: {}", ranks,
                         where_to_look(late, after));
    case LatePattern::wandering:
      return "a different rank in each step: the cause is the data, or chance";
    case LatePattern::unknown:
      return fmt::format(
          "rank {} in the recording; {} cannot tell whether the cause is the node or the data",
          order.front().rank, counted(late.steps, "step"));
  }
  return "";
}

std::string table_of_late_ranks(const LateRanks& late, const std::vector<LateRank>& order,
                                TimeUnit unit, const TerminalStyle& style) {
  Table table({{"rank"},
               {"last in", Align::right},
               {"others wait", Align::right},
               {"it waits", Align::right},
               {"longer than the others in", Align::left, 1}});
  const std::size_t most =
      style.most_lines == 0 ? order.size() : std::min<std::size_t>(order.size(), 8);
  for (std::size_t i = 0; i < most; ++i) {
    const LateRank& rank = order[i];
    std::string work;
    if (rank.work)
      work = fmt::format("{}{}, {}", rank.phase.empty() ? "" : std::string(rank.phase) + " ",
                         name_of(*rank.work), time_text(rank.longer, kDifferenceDigits, unit));
    table.add_row({std::to_string(rank.rank),
                   fmt::format("{} of {}", rank.times_last, late.collectives),
                   time_text(rank.caused, kDifferenceDigits, unit),
                   time_text(rank.waited, kDifferenceDigits, unit), work});
  }
  return table.text(style);
}

std::string waits_of_collectives(const DifferenceReport& report, const TerminalStyle& style) {
  std::string lines;
  for (const RankCollectiveLine& one : report.collectives) {
    std::string waits;
    for (const auto& [rank, wait] : one.waits)
      waits += fmt::format("{}rank {} {}", waits.empty() ? "" : ", ", rank,
                           time_text(wait, kDifferenceDigits));
    lines += wrapped(fmt::format("{}{}: transfer {}, rank {} last; waits: {}", one.operation,
                                 one.bytes ? fmt::format(" of {} bytes", one.bytes->count()) : "",
                                 time_text(one.transfer, kDifferenceDigits), one.last_rank, waits),
                     style.width, 2);
  }
  return lines;
}

}  // namespace

std::string late_rank_lines(const DifferenceReport& report, TimeUnit unit,
                            const TerminalStyle& style) {
  if (!report.late) return "";
  const LateRanks& late = *report.late;
  std::vector<LateRank> order = late.ranks;
  std::ranges::stable_sort(
      order, [](const LateRank& a, const LateRank& b) { return a.caused > b.caused; });
  const char* const rest =
      late.complete ? "." : ". Not all ranks were recorded, so the last one may be missing here.";
  const std::string who = who_is_late(late, order, report.difference.after);
  std::string lines = '\n' + wrapped(fmt::format("Who is late: {}{}", who, rest), style.width, 0);
  if (late.pattern == LatePattern::nobody) return lines;
  lines += table_of_late_ranks(late, order, unit, style);
  if (style.most_lines == 0) lines += waits_of_collectives(report, style);  // --verbose
  return lines;
}

std::string pair_lines(const DifferenceReport& report, const TerminalStyle& style) {
  if (!report.pairs) return "";
  const PairVerdict verdict = judge_pairs(*report.pairs);
  std::string line = fmt::format("Pairs of nodes: fastest {} GB/s, {} of {} below {:.0f} % of it",
                                 significant(verdict.fastest_gbps, kDifferenceDigits),
                                 verdict.slow.size(), report.pairs->pairs.size(), 100 * kSlowPair);
  if (!verdict.slow_nodes.empty())
    line += fmt::format("; slow: node{} {} (its partners are fast with other nodes)",
                        verdict.slow_nodes.size() > 1 ? "s" : "",
                        printable(fmt::to_string(fmt::join(verdict.slow_nodes, ", "))));
  if (verdict.groups.found()) line += "; " + printable(group_words(verdict.groups));
  // Whether group_words() already explains the pair: its nodes are in different groups.
  const auto joined = [&](const PairBandwidth& pair) {
    return std::ranges::none_of(verdict.groups.groups, [&](const auto& names) {
      return std::ranges::count(names, pair.a) > 0 && std::ranges::count(names, pair.b) > 0;
    });
  };
  for (const PairBandwidth& pair : verdict.slow_paths)
    if (!verdict.groups.found() || !joined(pair))
      line += fmt::format("; slow: the path between {} and {} (both are fast with other nodes)",
                          printable(pair.a), printable(pair.b));
  for (const PairBandwidth& pair : verdict.undecided)
    line += fmt::format("; slow: {} or {} (neither is fast with any node{})", printable(pair.a),
                        printable(pair.b),
                        verdict.fast_nodes.empty()
                            ? ""
                            : "; measure each with " + printable(verdict.fast_nodes.front()));
  return '\n' + wrapped(line + '.', style.width, 0);
}

}  // namespace ddpsim
