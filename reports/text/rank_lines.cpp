#include "rank_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string spread_line(const IterationStatistics& spread, int digits, const TerminalStyle& style) {
  std::string text =
      fmt::format("Iterations {} to {}: median {}", spread.first,
                  spread.first + static_cast<int>(spread.count) - 1, time_text(spread.p50, digits));
  if (spread.p95) text += fmt::format(", p95 {}", time_text(*spread.p95, digits));
  if (spread.p99) text += fmt::format(", p99 {}", time_text(*spread.p99, digits));
  if (!spread.p95)
    text += " (p95 needs 20 iterations, p99 100)";
  else if (!spread.p99)
    text += " (p99 needs 100 iterations)";
  return wrapped(text + '.', style.width, 2);
}

/// Whether chance decides which rank is the slowest in a step.
bool by_chance(const RankVariation& variation, double share, std::size_t ranks) {
  const double alike = 1.0 / static_cast<double>(ranks);
  return variation.jitter > 0 && variation.stragglers.empty() && share < (1 + alike) / 2;
}

/// Names the rank that causes most of the waiting; a table follows if others cause much of it, too.
std::string wait_lines(std::vector<RankWait> ranks, std::size_t steps,
                       const RankVariation& variation, int digits, const TerminalStyle& style) {
  constexpr std::size_t kMostRows = 5;
  constexpr double kAlone = 0.9;
  Duration total;
  for (const RankWait& rank : ranks) total += rank.caused;
  if (total <= Duration()) return "";
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankWait& a, const RankWait& b) { return a.caused > b.caused; });
  const auto per_step = [&](Duration sum) {
    return Duration::picoseconds(sum.picoseconds() / static_cast<std::int64_t>(steps));
  };
  const RankWait& worst = ranks.front();
  const Duration each = per_step(
      Duration::picoseconds(total.picoseconds() / static_cast<std::int64_t>(ranks.size())));
  const double share = worst.caused / total;
  const std::string waits = fmt::format(
      "On average a rank's collectives wait {} a step for the last rank, partly while it "
      "computes. ",
      time_text(each, digits));
  if (by_chance(variation, share, ranks.size()))
    return wrapped(waits + "Chance decides which rank is last.", style.width, 2);
  std::string lines =
      wrapped(fmt::format("{}Rank {} causes {} of that; it is last at {}.", waits, worst.rank,
                          percent_text(100 * share),
                          counted(static_cast<std::uint64_t>(worst.times_last), "collective")),
              style.width, 2);
  if (share >= kAlone) return lines;
  Table table({{"rank", Align::right},
               {"times last", Align::right},
               {"others wait per step", Align::right},
               {"it waits per step", Align::right}});
  for (std::size_t i = 0; i < std::min(kMostRows, ranks.size()); ++i)
    if (ranks[i].caused > Duration())
      table.add_row({std::to_string(ranks[i].rank), std::to_string(ranks[i].times_last),
                     time_text(per_step(ranks[i].caused), digits),
                     time_text(per_step(ranks[i].wait), digits)});
  return lines + table.text(style);
}

}  // namespace

std::string rank_lines(const SimulateReport& report, int digits, const TerminalStyle& style) {
  const SimulationResult& result = report.result;
  if (result.ranks.empty()) return "";
  std::string lines;
  const Duration time = result.times().iteration;
  if (report.iteration_if_alike && time > *report.iteration_if_alike)
    lines = wrapped(
        fmt::format("Unequal ranks cost {} a step on average: with equal ranks it takes {}.",
                    time_text(time - *report.iteration_if_alike, digits),
                    time_text(*report.iteration_if_alike, digits)),
        style.width, 2);
  const std::size_t steps = std::max<std::size_t>(1, result.iterations.size());
  if (result.statistics) lines += spread_line(*result.statistics, digits, style);
  return lines +
         wait_lines(result.ranks, steps, report.context.job.options().variation, digits, style);
}

}  // namespace ddpsim
