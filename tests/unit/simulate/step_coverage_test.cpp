// How often the interval for a further step contains it: open traces, and real trainings
// (tests/lab/step_times.py). If one step of 40 is left out and ranks of the other 39 make the
// interval, it contains 32 for any times. So only the arithmetic can fail there. The promise of an
// interval is tested with steps to come.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/sim/certainty/step_spread.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/traces/import.hpp"

using namespace ddpsim;

namespace {

using Times = std::vector<Duration>;

struct Interval {
  Duration low;
  Duration high;
};

Interval of_steps(const Times& steps) {
  const StepSpread spread = step_spread(steps).value();
  return {spread.next_low, spread.next_high};
}

Interval about_median(const Times& steps) {
  std::vector<double> us;
  for (const Duration step : steps) us.push_back(step.microseconds());
  const Duration middle = Duration::microseconds(median(us));
  return {middle.scaled(0.95), middle.scaled(1.05)};
}

Interval least_to_most(const Times& steps) {
  const auto [low, high] = std::ranges::minmax(steps);
  return {low, high};
}

/// Number of steps contained in ddpsim's interval, and in two intervals that use no statistics.
struct Hits {
  std::size_t all = 0;
  std::size_t spread = 0;
  std::size_t median = 0;
  std::size_t range = 0;
  void count(const Times& known, Duration further) {
    const auto held = [&](const Interval& interval) {
      return interval.low <= further && further <= interval.high ? 1U : 0U;
    };
    ++all;
    spread += held(of_steps(known));
    median += held(about_median(known));
    range += held(least_to_most(known));
  }
  void add(const Hits& other) {
    all += other.all;
    spread += other.spread;
    median += other.median;
    range += other.range;
  }
  double percent(std::size_t held) const {
    return 100 * static_cast<double>(held) / static_cast<double>(all);
  }
};

Hits each_left_out(const Times& steps) {
  Hits hits;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Times others = steps;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    hits.count(others, steps[k]);
  }
  return hits;
}

/// Uses every run of `known` steps, and the step that comes `ahead` steps after its last one.
Hits after_runs(const Times& steps, std::size_t known, std::size_t ahead) {
  Hits hits;
  for (std::size_t k = known + ahead - 1; k < steps.size(); ++k) {
    const auto last = steps.begin() + static_cast<std::ptrdiff_t>(k + 1 - ahead);
    hits.count({last - static_cast<std::ptrdiff_t>(known), last}, steps[k]);
  }
  return hits;
}

struct RunOfSteps {
  std::string name;
  Times steps;
};

/// Recordings of rank 0. The others of its job wait for the same steps.
std::vector<RunOfSteps> lab_recordings() {
  std::ifstream table(files::fixture_file("../lab/measured/step_times.csv"));
  std::string line;
  std::getline(table, line);
  std::vector<RunOfSteps> recordings;
  while (std::getline(table, line)) {
    std::string model, batch, world, rank;
    std::istringstream row(line);
    for (std::string* cell : {&model, &batch, &world, &rank}) std::getline(row, *cell, ',');
    if (rank != "0") continue;
    RunOfSteps& one = recordings.emplace_back();
    one.name = fmt::format("{}, batch {}, {} ranks", model, batch, world);
    for (double us = 0; row >> us;) one.steps.push_back(Duration::microseconds(us));
  }
  return recordings;
}

std::string shown(const std::string& what, const Hits& hits) {
  return fmt::format("{:<32} {:>4} of {:>4} {:>6.1f} % | {:>6.1f} % | {:>6.1f} %\n", what,
                     hits.spread, hits.all, hits.percent(hits.spread), hits.percent(hits.median),
                     hits.percent(hits.range));
}

const std::string kHead =
    "further steps held by: the interval | median +-5 % | least to most of those known\n";

}  // namespace

TEST_CASE("step spread: each step left out in turn, open traces") {
  const std::filesystem::path folder = files::shared_file("data/traces");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  std::set<std::filesystem::path> traces;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".gz") traces.insert(entry.path());
  Hits few;
  Hits pooled;
  std::string report = kHead;
  for (const std::filesystem::path& trace : traces) {
    Times steps;
    for (const StepSample& step : import_file(trace, {}).workload.steps)
      if (step.iteration) steps.push_back(*step.iteration);
    if (steps.size() < 4) continue;
    const Hits hits = each_left_out(steps);
    pooled.add(hits);
    if (steps.size() < 10) few.add(hits);
    report += shown(trace.stem().stem().string(), hits);
  }
  report += shown("of fewer than ten steps", few) + shown("all traces", pooled);
  MESSAGE(report);
  CHECK(pooled.all >= 40);
}

TEST_CASE("step spread: each step left out in turn, real trainings") {
  const std::vector<RunOfSteps> recordings = lab_recordings();
  REQUIRE(recordings.size() >= 20);
  Hits pooled;
  for (const RunOfSteps& recording : recordings) {
    CHECK_MESSAGE(recording.steps.size() >= 30, recording.name);
    pooled.add(each_left_out(recording.steps));
  }
  MESSAGE((kHead + shown(fmt::format("all, {} trainings", recordings.size()), pooled)));
  CHECK(pooled.all >= 300);
  CHECK(pooled.percent(pooled.spread) >= 75);
  CHECK(pooled.percent(pooled.spread) <= 90);
}

TEST_CASE("step spread: a step is predicted from those just before it, real trainings") {
  const std::vector<RunOfSteps> recordings = lab_recordings();
  std::string report = kHead;
  for (const std::size_t known : {2U, 3U, 5U, 8U, 12U, 20U}) {
    Hits next;
    Hits tenth;
    for (const RunOfSteps& recording : recordings) {
      next.add(after_runs(recording.steps, known, 1));
      tenth.add(after_runs(recording.steps, known, 10));
    }
    report += shown(fmt::format("{} known, the next after", known), next);
    report += shown(fmt::format("{} known, the tenth after", known), tenth);
    CHECK(next.all >= 300);
    CHECK(next.percent(next.spread) >= 75);
    CHECK(next.percent(next.spread) <= 90);
  }
  MESSAGE(report);
}
