// Averaging of parameters as a scheme: local SGD without DDP, in levels, and SlowMo. The step is
// that of scheme_step.hpp, whose five parameters of 4 MB are 20 MB together. The costs of an
// averaging come from local_sgd.hpp.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "local_sgd.hpp"
#include "mentions.hpp"
#include "paper_step.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

Job averaged_job(Scheme scheme, const Cluster& cluster = two_by_two()) {
  return Job(layered(), cluster, options(std::move(scheme)), AnalyticModel{});
}

Duration all_reduce(const Job& among, Bytes bytes) {
  return plan(among, CollectiveKind::all_reduce, bytes).transfer;
}

std::string averaged_problem(const Job& job) {
  return cannot_simulate(job).value_or("");
}

/// The share found by counting steps.
double counted(std::int64_t period, const std::vector<AveragingLevel>& higher) {
  constexpr std::int64_t kCounted = 2 * 3 * 4 * 5 * 7 * 3;
  std::int64_t count = 0;
  for (std::int64_t step = 0; step < kCounted; ++step)
    if (step % period == 0 && std::ranges::none_of(higher, [&](const AveragingLevel& level) {
          return step % level.period == 0;
        }))
      ++count;
  return static_cast<double>(count) / static_cast<double>(kCounted);
}

}  // namespace

TEST_CASE("local SGD as a scheme: only compute, and a step's share of an averaging") {
  const Job job = averaged_job(PeriodicAveraging{.period = 4});
  const Duration whole = all_reduce(job, 20'000'000_B);
  const StepResult step = simulate(job).step;
  CHECK(step.collectives.empty());
  CHECK(step.buckets.empty());
  REQUIRE(step.averaging);
  CHECK(step.averaging->bytes == 20'000'000_B);
  CHECK(step.averaging->whole == whole);
  CHECK(step.times.model_averaging == whole.scaled(0.25));
  CHECK(step.times.iteration == 320_us + whole.scaled(0.25));
  CHECK(step.times.exposed_communication == Duration());
  CHECK(step.times.loss[LossCause::model_averaging] == whole.scaled(0.25));
}

TEST_CASE("local SGD as a scheme: an averaging costs as much as post-local SGD's") {
  Cluster nodes = paper::gpus();
  nodes.groups = {std::make_shared<const Cluster>(nodes)};
  nodes.nodes = 2;
  SimulationOptions all = paper::all_costs();
  const auto whole = [&] {
    return simulate(Job(paper::workload(), nodes, all, paper::wire(std::vector<Duration>(8))))
        .step.averaging->whole;
  };
  all.ddp_to_set().comm_hook = CommHook::post_local_sgd;
  // 7 MB are flattened in 3 + 14 us and divided in the same time. The host needs 3 us to see the
  // end, 40 and 12 us to launch, and 3 us afterwards.
  CHECK(whole() == 92_us);
  all.ddp_to_set().comm_hook = CommHook::none;
  all.scheme = PeriodicAveraging{.period = 4};
  CHECK(whole() == 92_us);
}

TEST_CASE("local SGD in levels: only the largest group averages if several periods end together") {
  CHECK(share_of_steps(4, {}) == 0.25);
  using Levels = std::vector<AveragingLevel>;
  const std::vector<std::pair<std::int64_t, Levels>> cases = {
      {2, {{4, 0}, {8, 0}}}, {4, {{8, 0}}},          {2, {{3, 0}}},
      {2, {{3, 0}, {5, 0}}}, {4, {{6, 0}, {10, 0}}}, {1, {{2, 0}, {3, 0}, {7, 0}}},
      {3, {{3, 0}}}};
  for (const auto& [period, higher] : cases)
    CHECK(share_of_steps(period, higher) == doctest::Approx(counted(period, higher)));

  const Job job = averaged_job(PeriodicAveraging{.hierarchy = {{2, 2}, {6, 4}}});
  CHECK(averaged_problem(job) == "");
  const Duration in_node = all_reduce(job.within(1), 20'000'000_B);
  const Duration of_all = all_reduce(job, 20'000'000_B);
  CHECK(in_node < of_all);
  const StepResult step = simulate(job).step;
  REQUIRE(step.averaging);
  REQUIRE(step.averaging->further.size() == 1);
  CHECK(step.averaging->whole == in_node);
  CHECK(step.averaging->what == "2 ranks average");
  CHECK(step.averaging->further.front().whole == of_all);
  CHECK(step.times.model_averaging == in_node.scaled(0.5 - 1.0 / 6) + of_all.scaled(1.0 / 6));
}

TEST_CASE("local SGD in levels: HierarchicalModelAverager's rules for levels apply") {
  const auto problem = [](std::vector<AveragingLevel> levels) {
    return averaged_problem(averaged_job(PeriodicAveraging{.hierarchy = std::move(levels)}));
  };
  CHECK(problem({{4, 4}}) == "");
  CHECK(mentions(problem({{2, 2}}), "the last group must have all 4 ranks, not 2"));
  CHECK(mentions(problem({{4, 2}, {2, 4}}), "periods and group sizes must both increase"));
  CHECK(mentions(problem({{2, 4}, {4, 4}}), "periods and group sizes must both increase"));
  CHECK(mentions(problem({{2, 3}, {4, 4}}), "hierarchy, a group=3"));
  SimulationOptions straggling = options(PeriodicAveraging{});
  straggling.variation.stragglers = {{1, 1.5}};
  CHECK(mentions(averaged_problem(Job(layered(), two_by_two(), straggling, FreeModel{})),
                 "ranks meet only at the averaging"));
}

TEST_CASE("SlowMo: a node's gradients after backward, and averages between nodes at times") {
  const Job job = averaged_job(SlowMo{.localsgd_frequency = 3, .slowmo_frequency = 12});
  CHECK(averaged_problem(job) == "");
  const StepResult step = simulate(job).step;
  REQUIRE(step.collectives.size() == 1);
  CHECK(step.collectives.front().bytes == 20'000'000_B);
  const Duration in_node = all_reduce(job.within(1), 20'000'000_B);
  CHECK(step.times.exposed_communication == in_node);
  REQUIRE(step.averaging);
  const ModelAveraging& between = *step.averaging;
  CHECK(between.whole == all_reduce(job.within(2, 1), 20'000'000_B) +
                             plan(job.within(1), CollectiveKind::broadcast, 20'000'000_B).transfer);
  CHECK(between.share == doctest::Approx(1.0 / 3 - 1.0 / 12));
  REQUIRE(between.further.size() == 1);
  // There are four shards of 5 MB, one after the other.
  Duration shards;
  for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::broadcast})
    shards += plan(job, kind, 5'000'000_B).transfer * 4;
  CHECK(between.further.front().whole == shards);
  CHECK(step.times.iteration == 320_us + in_node + step.averaging->of_a_step());

  // Every rank steps the momentum of all parameters. So nothing is sent for it, and no averaging is
  // left out.
  const StepResult simple =
      simulate(averaged_job(SlowMo{.slowmo_frequency = 12, .slowmo_memory_efficient = false})).step;
  CHECK(simple.averaging->share == doctest::Approx(1.0 / 3));
  CHECK(simple.averaging->further.front().whole == Duration());
}

TEST_CASE("SlowMo: one node does not average, and one GPU a node shares no gradients") {
  const StepResult lone = simulate(averaged_job(SlowMo{}, small::node(2))).step;
  CHECK(lone.averaging->what == "slow momentum steps");
  CHECK(lone.averaging->further.empty());
  CHECK(lone.collectives.size() == 1);
  const Job apart = averaged_job(SlowMo{}).within(2, 1);
  const StepResult step = simulate(apart).step;
  CHECK(step.collectives.empty());
  CHECK(step.averaging->what == "2 nodes average");
}

// fairscale's documentation of SlowMo says when local SGD gains: (1 - 1/f) of an all-reduce must be
// more than the part of it that DDP hides behind backward.
TEST_CASE("local SGD against DDP: it gains if it saves more of an all-reduce than was hidden") {
  int worth = 0;
  int not_worth = 0;
  for (const int period : {1, 2, 3, 8})
    for (const double gigabytes : {0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0})
      for (const double cap_mb : {12.0, 1000.0}) {
        CAPTURE(period);
        CAPTURE(gigabytes);
        CAPTURE(cap_mb);
        SimulationOptions all = options(Ddp());
        all.interference = {.sm_share = 0, .memory_share = 0, .communication_rate = 1};
        all.torch = {2, 8};
        all.ddp_to_set().bucket_cap_mb = cap_mb;
        const Job ddp(layered(), small::node(2, gigabytes), all, AnalyticModel{});
        all.scheme = PeriodicAveraging{.period = period};
        const Job local = ddp.with(all);
        const auto us = [&](Bytes bytes) { return all_reduce(ddp, bytes).microseconds(); };
        // Below 12 MiB, all parameters except the embedding are one bucket, ready 10 us before
        // backward ends. Otherwise nothing is hidden.
        const bool two = cap_mb == 12;
        const double sent = two ? us(16'000'000_B) + us(4'000'000_B) : us(20'000'000_B);
        const double hidden = two ? std::min(us(16'000'000_B), 10.0) : 0;
        const double saved = sent - us(20'000'000_B) / period;
        const Duration gained = simulate_times(ddp).iteration - simulate_times(local).iteration;
        CHECK(gained.microseconds() == doctest::Approx(saved - hidden).epsilon(1e-4));
        ++(saved > hidden ? worth : not_worth);
      }
  CHECK(worth > 10);
  CHECK(not_worth > 1);
}

TEST_CASE("averaging: memory holds the flat tensor, the parameters and SlowMo's momentum") {
  SimulationOptions all = options(PeriodicAveraging{});
  const PeakMemory local = peak_memory(Job(layered(), two_by_two(), all, FreeModel{}));
  CHECK(local.parts.hook + local.parts.temporaries >= 20'000'000_B);
  all.scheme = SlowMo{};
  const PeakMemory sharded = peak_memory(Job(layered(), two_by_two(), all, FreeModel{}));
  all.scheme = SlowMo{.slowmo_memory_efficient = false};
  const PeakMemory whole = peak_memory(Job(layered(), two_by_two(), all, FreeModel{}));
  CHECK(whole.parts.optimizer - sharded.parts.optimizer == 30'000'000_B);
}
