// Several workloads on several clusters: shares of the time on one of them.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "alpha_beta.hpp"
#include "ddpsim/sim/compare/mix.hpp"
#include "ddpsim/sim/compare/money.hpp"

using namespace ddpsim;

namespace {

/// Work that takes this many seconds per unit on two GPUs, without uncertainty.
WorkTime work_of(double seconds) {
  const Job job = small::OpenJob{.workload = small::chain({{4, 0}}, 0, 0), .model = FreeModel{}};
  return {.jobs = {job}, .expected = seconds};
}

}  // namespace

TEST_CASE("mix: a share is of the time on the reference, whatever the units of work") {
  // The second candidate does the first workload in half the time and the second in twice.
  const std::vector<std::vector<WorkTime>> works = {{work_of(1e-3), work_of(0.5e-3)},
                                                    {work_of(40), work_of(80)}};
  const Mix three_to_one = mix(works, std::array{0.75, 0.25}, 0);
  CHECK(three_to_one.candidates[0].time.value == doctest::Approx(1));
  CHECK(three_to_one.candidates[1].time.value == doctest::Approx(0.75 / 2 + 0.25 * 2));
  CHECK(three_to_one.by_speed == std::vector<std::size_t>{1, 0});
  CHECK(three_to_one.candidates[0].behind.percent == doctest::Approx(100 * (1 / 0.875 - 1)));
  CHECK(mix(works, std::array{0.25, 0.75}, 0).by_speed == std::vector<std::size_t>{0, 1});
}

TEST_CASE("mix: a single workload gives that workload's comparison") {
  const std::vector<std::vector<WorkTime>> works = {{work_of(3), work_of(2)}};
  const Mix alone = mix(works, std::array{1.0}, 0);
  const Speedup own = speedup(works[0][1], works[0][0]);
  CHECK(alone.candidates[0].behind.percent == doctest::Approx(own.percent));
  CHECK(alone.candidates[0].behind.low_percent == doctest::Approx(own.low_percent));
  CHECK(contenders(alone) == std::vector<std::size_t>{1});
}

TEST_CASE("mix: an hour of the reference has its hourly price") {
  const std::vector<std::vector<WorkTime>> works = {{work_of(1), work_of(0.5)},
                                                    {work_of(5), work_of(2.5)}};
  const Mix both = mix(works, std::array{0.3, 0.7}, 0);
  const Price hourly{.usd = 10, .per = Price::Per::node_hour};
  const Costs costs = compare_costs(timed_works(both), {{.price = hourly}, {.price = hourly}});
  constexpr double kHour = 3600;
  const double node_hours = works[0][0].cluster().nodes * 10;
  CHECK(costs.candidates[0]->usd_per_work.times(kHour).value == doctest::Approx(node_hours));
  CHECK(costs.candidates[1]->usd_per_work.times(kHour).value == doctest::Approx(node_hours / 2));
  CHECK(costs.by_cost == std::vector<std::size_t>{1, 0});
}

TEST_CASE(
    "money: a free candidate is infinitely cheaper than a priced one, and equal to another "
    "free one") {
  const std::vector<std::vector<WorkTime>> works = {{work_of(1), work_of(0.5), work_of(2)}};
  const Mix alone = mix(works, std::array{1.0}, 0);
  const auto at = [](double usd) {
    return std::optional(Price{.usd = usd, .per = Price::Per::node_hour});
  };
  const Costs costs =
      compare_costs(timed_works(alone), {{.price = at(0)}, {.price = at(10)}, {.price = at(0)}});
  CHECK(costs.by_cost == std::vector<std::size_t>{0, 2, 1});
  CHECK(std::isinf(costs.candidates[1]->dearer.percent));
  CHECK(costs.candidates[1]->dearer.certain());
  CHECK(costs.candidates[2]->dearer.same);
}
