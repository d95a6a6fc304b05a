// Charts of training speed: which series have colours, what the ideal is, and what each chart holds.
#include "speed_chart.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "mentions.hpp"
#include "palette.hpp"

using namespace ddpsim;

namespace {

/// Two sizes of a cluster whose GPUs train 100 samples/s alone; `share` of it in the job.
void add_family(std::vector<SpeedPoint>& points, const std::string& workload,
                const std::string& family, double share) {
  for (const int gpus : {8, 64}) {
    const double ideal = 100.0 * gpus;
    const double speed = ideal * share;
    points.push_back({.workload = workload,
                      .family = family,
                      .name = family + "@" + std::to_string(gpus / 8),
                      .gpus = gpus,
                      .speed = speed,
                      .interval = std::pair(0.9 * speed, 1.1 * speed),
                      .ideal = ideal,
                      .told = family});
  }
}

std::size_t coloured(const plot::Chart& chart) {
  return static_cast<std::size_t>(std::ranges::count_if(
      chart.series, [](const plot::Series& series) { return !series.look.muted; }));
}

}  // namespace

TEST_CASE(
    "speed charts: sizes of one cluster have a curve in all and one per GPU, with the ideal") {
  std::vector<SpeedPoint> points;
  add_family(points, "", "dgx", 0.8);
  const SpeedCharts drawn = speed_charts(points, "samples/s", "cluster");
  REQUIRE(drawn.charts.size() == 2);
  CHECK(drawn.columns == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const plot::Chart& chart = drawn.charts[i];
    REQUIRE(chart.series.size() == 2);
    const plot::Series& ideal = chart.series[0];
    const plot::Series& curve = chart.series[1];
    CHECK(ideal.look.muted);
    CHECK_FALSE(curve.look.muted);
    for (std::size_t k = 0; k < 2; ++k) {
      const double gpus = k == 0 ? 8 : 64;
      const double each = i == 0 ? gpus : 1;
      CHECK(ideal.values[k].y == doctest::Approx(100 * each));
      CHECK(curve.values[k].y == doctest::Approx(80 * each));
      CHECK(curve.values[k].interval->first == doctest::Approx(72 * each));
      CHECK(chart.y.scale.covers(curve.values[k].interval->second));
      CHECK(chart.y.scale.covers(ideal.values[k].y));
    }
  }
  CHECK(drawn.charts[1].series[1].name == "dgx");
}

TEST_CASE("speed charts: the six fastest of eighty clusters have colours, the others are grey") {
  std::vector<SpeedPoint> points;
  for (int i = 0; i < 40; ++i) add_family(points, "", "c" + std::to_string(i), 0.5 + 0.01 * i);
  const SpeedCharts drawn = speed_charts(points, "samples/s", "cluster");
  for (const plot::Chart& chart : drawn.charts) {
    CHECK(coloured(chart) == plot::kColours);
    std::set<std::size_t> colours;
    for (const plot::Series& series : chart.series)
      if (!series.look.muted) CHECK(colours.insert(series.look.index).second);
  }
  std::set<std::string> names;
  for (const plot::Series& series : drawn.charts[1].series)
    if (!series.name.empty()) names.insert(series.name);
  CHECK(names == std::set<std::string>{"c34", "c35", "c36", "c37", "c38", "c39"});
  CHECK(std::ranges::any_of(drawn.notes, [](const std::string& note) {
    return mentions(note, "Grey: 34 clusters that train more slowly");
  }));
}

TEST_CASE(
    "speed charts: each of several workloads has a chart, in which a cluster keeps its colour") {
  std::vector<SpeedPoint> points;
  add_family(points, "first", "slow", 0.5);
  add_family(points, "first", "fast", 0.9);
  add_family(points, "second", "fast", 0.9);
  const SpeedCharts drawn = speed_charts(points, "samples/s", "cluster");
  REQUIRE(drawn.charts.size() == 2);
  CHECK(drawn.charts[0].caption == "first");
  CHECK(drawn.charts[1].caption == "second");
  const auto look_of = [](const plot::Chart& chart, const std::string& name) {
    return std::ranges::find(chart.series, name, &plot::Series::name)->look.index;
  };
  CHECK(look_of(drawn.charts[0], "fast") == look_of(drawn.charts[1], "fast"));
  CHECK(look_of(drawn.charts[0], "slow") != look_of(drawn.charts[0], "fast"));
}

TEST_CASE("speed charts: few clusters have bands, many have bars beside the frame") {
  for (const int families : {3, 4}) {
    std::vector<SpeedPoint> points;
    for (int i = 0; i < families; ++i)
      add_family(points, "", "c" + std::to_string(i), 0.5 + 0.01 * i);
    const SpeedCharts drawn = speed_charts(points, "samples/s", "cluster");
    const auto beside = std::ranges::count(drawn.charts[1].series, plot::Spread::beside_frame,
                                           &plot::Series::spread);
    CHECK(beside == (families == 4 ? 4 : 0));
  }
}

TEST_CASE("speed charts: clusters of one size each stand in rows, by workload") {
  std::vector<SpeedPoint> points;
  for (const char* workload : {"first", "second"})
    for (const char* name : {"a", "b"})
      points.push_back({.workload = workload,
                        .family = name,
                        .name = name,
                        .gpus = 8,
                        .speed = *name == 'b' ? 2.0 : 1.0,
                        .interval = {},
                        .ideal = {},
                        .told = ""});
  const SpeedCharts drawn = speed_charts(points, "samples/s", "cluster");
  REQUIRE(drawn.charts.size() == 2);
  for (const plot::Chart& chart : drawn.charts) {
    CHECK(chart.rows);
    CHECK(chart.y.ticks.front().label == "b (8 GPUs)");
  }
}
