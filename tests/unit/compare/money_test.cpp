// What training costs: hourly and purchase prices, goodput, the cheapest candidate and the
// frontier.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "alpha_beta.hpp"
#include "ddpsim/sim/compare/money.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster of(int nodes, int gpus) {
  Cluster cluster = small::pair_of_gpus();
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus;
  return cluster;
}

/// A step with 600 us of all-reduces and this much compute, on two ranks.
small::OpenJob taking(double compute_us) {
  small::OpenJob job{.workload = small::chain({{4 << 20, compute_us - 100}}, 100, compute_us - 100),
                     .model = RecordedModel{.durations = {600_us}}};
  return job;
}

Comparison compared(const std::vector<small::OpenJob>& jobs) {
  return compare({jobs.begin(), jobs.end()}, {.threads = 1});
}

std::optional<Price> hourly(double usd) {
  return Price{.usd = usd, .per = Price::Per::node_hour};
}

std::vector<CandidateMoney> costing(const std::vector<std::optional<Price>>& prices) {
  std::vector<CandidateMoney> money;
  for (const std::optional<Price>& price : prices) money.push_back({.price = price});
  return money;
}

}  // namespace

TEST_CASE("money: an hour of a cluster, rented or bought") {
  CHECK(usd_per_hour({.usd = 30, .per = Price::Per::node_hour}, of(4, 8), {}) == 120);
  CHECK(usd_per_hour({.usd = 2, .per = Price::Per::gpu_hour}, of(4, 8), {}) == 64);
  const Ownership owned{
      .life_hours = 20'000, .utilisation = 0.5, .node_kw = 10, .usd_per_kwh = 0.2};
  // 200,000 over 10,000 hours of training, and 2 USD of energy in each.
  CHECK(usd_per_hour({.usd = 200'000, .per = Price::Per::node}, of(3, 8), owned) ==
        doctest::Approx(66));
  CHECK(usd_per_hour({.usd = 30, .per = Price::Per::node_hour}, of(1, 8), owned) == 30);
}

TEST_CASE("money: goodput by Daly's estimate, for all nodes together") {
  // 24 h between failures of the job, 5 min for a checkpoint, 10 min for a restart.
  const Failures failures{
      .node_mtbf_hours = 24 * 64, .restart_seconds = 600, .checkpoint_seconds = 300};
  const Goodput found = goodput(failures, 64);
  const double mtbf = 24 * 3600;
  // Young's interval is the first order of Daly's.
  CHECK(found.checkpoint_every_seconds ==
        doctest::Approx(std::sqrt(2 * 300 * mtbf) - 300).epsilon(0.05));
  const auto share = [&](double every) {
    return every / (mtbf * std::exp(600 / mtbf) * std::expm1((every + 300) / mtbf));
  };
  CHECK(found.share == doctest::Approx(share(found.checkpoint_every_seconds)));
  // No other interval does better by a thousandth.
  for (double every = 600; every < 40'000; every *= 1.1) CHECK(share(every) < found.share + 1e-3);
  CHECK(found.share > 0.9);
  CHECK(found.share < 0.93);
  CHECK(goodput(failures, 1).share > found.share);
  CHECK(goodput(failures, 6400).share < found.share);
}

TEST_CASE("money: free checkpoints lose only restarts, and without failures nothing is lost") {
  CHECK(goodput({.node_mtbf_hours = 1000}, 8).share == 1);
  const Goodput found = goodput({.node_mtbf_hours = 100, .restart_seconds = 3600}, 1);
  CHECK(found.share == doctest::Approx(std::exp(-0.01)));
  CHECK(found.checkpoint_every_seconds == 0);
  // If a checkpoint takes longer than the time between failures: one per failure.
  CHECK(goodput({.node_mtbf_hours = 1, .checkpoint_seconds = 7200}, 1).checkpoint_every_seconds ==
        3600);
}

TEST_CASE("money: cheapest first, and who is on the frontier") {
  // Steps of 1, 2 and 1.5 ms.
  const Comparison comparison = compared({taking(400), taking(1400), taking(900)});
  const Costs costs =
      compare_costs(timed_works(comparison), costing({hourly(30), hourly(10), hourly(25)}));
  REQUIRE(costs.by_cost == std::vector<std::size_t>{1, 0, 2});
  CHECK(costs.candidates[1]->usd_per_work.value == doctest::Approx(10 * 1e-3 / 3600));
  CHECK(costs.candidates[1]->dearer.percent == 0);
  CHECK(costs.candidates[0]->dearer.percent == doctest::Approx(50));
  CHECK(costs.candidates[2]->dearer.percent == doctest::Approx(87.5));
  CHECK(costs.candidates[1]->frontier);
  CHECK(costs.candidates[0]->frontier);
  CHECK_FALSE(costs.candidates[2]->frontier);  // more expensive and slower than the first
}

TEST_CASE("money: twice the price of the same cluster costs twice as much, certainly") {
  const Comparison comparison = compared({taking(400), taking(400)});
  const Costs costs = compare_costs(timed_works(comparison), costing({hourly(20), hourly(10)}));
  const Speedup& dearer = costs.candidates[0]->dearer;
  CHECK(dearer.percent == doctest::Approx(100));
  CHECK(dearer.low_percent > 98);  // only the noise of two measurements
  CHECK(dearer.certain());
  const Costs same = compare_costs(timed_works(comparison), costing({hourly(10), hourly(10)}));
  CHECK(same.candidates[1]->dearer.same);
}

TEST_CASE("money: a candidate without a price has no cost, and without prices none is cheapest") {
  const Comparison comparison = compared({taking(400), taking(1400)});
  const Costs costs = compare_costs(timed_works(comparison), costing({std::nullopt, hourly(10)}));
  CHECK_FALSE(costs.candidates[0]);
  CHECK(costs.by_cost == std::vector<std::size_t>{1});
  CHECK(compare_costs(timed_works(comparison), costing({std::nullopt, std::nullopt}))
            .by_cost.empty());
}

TEST_CASE("money: time lost to failures is paid for") {
  const Comparison comparison = compared({taking(400)});
  const Failures failures{.node_mtbf_hours = 100, .restart_seconds = 600, .checkpoint_seconds = 60};
  const Costs costs =
      compare_costs(timed_works(comparison), {{.price = hourly(10), .failures = failures}});
  const CandidateCost& cost = *costs.candidates[0];
  CHECK(cost.goodput.share < 1);
  CHECK(cost.usd_per_work.value == doctest::Approx(10 * 0.5e-3 / 3600 / cost.goodput.share));
}
