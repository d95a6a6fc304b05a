// Unequal ranks, in words.
#include <doctest/doctest.h>

#include "rank_lines.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Two steps of four ranks, which cause 28 ms of waiting. Rank 1 causes 20 of them.
SimulationResult of_four_ranks() {
  SimulationResult result;
  result.iterations.resize(2);
  result.statistics =
      IterationStatistics{.first = 3, .count = 2, .mean = {.iteration = 104_ms}, .p50 = 103_ms};
  result.ranks = {{.rank = 0, .wait = 8_ms, .times_last = 1, .caused = 2_ms},
                  {.rank = 1, .wait = 6_ms, .times_last = 3, .caused = 20_ms},
                  {.rank = 2, .wait = 5_ms, .times_last = 2, .caused = 6_ms},
                  {.rank = 3, .wait = 9_ms, .times_last = 0, .caused = Duration()}};
  return result;
}

std::string lines_of(const SimulationResult& result, std::optional<Duration> alike = std::nullopt) {
  SimulateReport report = sample::simulated(result);
  report.iteration_if_alike = alike;
  return rank_lines(report, 3, {.width = 200});
}

/// Two ranks that cause 20 ms of waiting, of which the second causes `second`.
SimulationResult shared(Duration second) {
  SimulationResult result;
  result.ranks = {{.rank = 0, .wait = 1_ms, .times_last = 4, .caused = 20_ms - second},
                  {.rank = 1, .wait = 2_ms, .times_last = 1, .caused = second}};
  return result;
}

}  // namespace

// A step takes 104 - 95 = 9 ms longer. Each rank has 28 / 4 = 7 ms of waiting, 3.5 ms a step. 20 of
// 28 are 71 %.
TEST_CASE(
    "rank lines: the cost of unequal ranks, how much steps vary, and the waits of each rank") {
  CHECK(lines_of(of_four_ranks(), 95_ms) ==
        R"(Unequal ranks cost 9.00 ms a step on average: with equal ranks it takes 95.0 ms.
Iterations 3 to 4: median 103 ms (p95 needs 20 iterations, p99 100).
On average a rank's collectives wait 3.50 ms a step for the last rank, partly while it computes. Rank 1 causes 71 % of that; it is last at 3 collectives.
  rank  times last  others wait per step  it waits per step
     1           3               10.0 ms            3.00 ms
     2           2               3.00 ms            2.50 ms
     0           1               1.00 ms            4.00 ms
)");
}

TEST_CASE("rank lines: equal ranks have no line") {
  SimulationResult result = of_four_ranks();
  result.ranks.clear();
  CHECK(lines_of(result, 95_ms).empty());
}

TEST_CASE("rank lines: without statistics the step itself is compared with that of equal ranks") {
  SimulationResult result = of_four_ranks();
  result.statistics.reset();
  result.step.times.iteration = 97_ms;
  CHECK(lines_of(result, 95_ms)
            .starts_with("Unequal ranks cost 2.00 ms a step on average: with equal ranks it takes "
                         "95.0 ms.\nOn average"));
  CHECK(lines_of(result, 97_ms).starts_with("On average a rank's collectives wait"));
  CHECK(lines_of(result).starts_with("On average a rank's collectives wait"));
}

TEST_CASE("rank lines: percentiles are printed if there are enough iterations") {
  SimulationResult result = of_four_ranks();
  result.statistics->count = 30;
  result.statistics->p95 = 108_ms;
  CHECK(lines_of(result).starts_with(
      "Iterations 3 to 32: median 103 ms, p95 108 ms (p99 needs 100 iterations).\n"));
  result.statistics->p99 = 109_ms;
  CHECK(
      lines_of(result).starts_with("Iterations 3 to 32: median 103 ms, p95 108 ms, p99 109 ms.\n"));
}

TEST_CASE("rank lines: there is no table if one rank causes nine tenths of the waiting") {
  CHECK(lines_of(shared(18_ms)) ==
        "On average a rank's collectives wait 10.0 ms a step for the last rank, partly while it "
        "computes. Rank 1 causes 90 % of that; it is last at 1 collective.\n");
  CHECK(lines_of(shared(18_ms - 1_ps)).find("\n  rank  times last") != std::string::npos);
}

TEST_CASE("rank lines: with jitter no rank is blamed unless it is last far too often") {
  SimulationOptions options{.variation = {.jitter = 0.1}};
  const auto lines = [&](const SimulationResult& result) {
    return rank_lines(sample::simulated(result, sample::with(options)), 3, {.width = 200});
  };
  const std::string chance = "Chance decides which rank is last.\n";
  CHECK(lines(of_four_ranks()).find("Rank 1 causes 71 %") != std::string::npos);
  SimulationResult even = of_four_ranks();
  even.ranks[0].caused = 12_ms;  // 20 of 38; limit 62.5 %
  CHECK(lines(even).ends_with(chance));
  options.variation.stragglers = {{1, 1.5}};
  CHECK_FALSE(lines(even).ends_with(chance));
}

TEST_CASE("rank lines: without waits nothing is printed") {
  SimulationResult result = of_four_ranks();
  result.statistics.reset();
  for (RankWait& rank : result.ranks) rank.caused = Duration();
  CHECK(lines_of(result).empty());
}

TEST_CASE("rank lines: the five worst ranks are listed, equal ones sorted by rank") {
  SimulationResult result;
  for (int rank = 0; rank < 7; ++rank)
    result.ranks.push_back(
        {.rank = rank, .wait = 1_ms, .times_last = 10 + rank, .caused = rank == 6 ? 2_ms : 1_ms});
  const std::string text = lines_of(result);
  CHECK(text.substr(text.find("\n     ")) ==
        "\n     6          16               2.00 ms            1.00 ms"
        "\n     0          10               1.00 ms            1.00 ms"
        "\n     1          11               1.00 ms            1.00 ms"
        "\n     2          12               1.00 ms            1.00 ms"
        "\n     3          13               1.00 ms            1.00 ms\n");
}
