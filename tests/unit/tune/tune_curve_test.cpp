// The curve that recommendations rest on, and its bounds.
#include <doctest/doctest.h>

#include <tuple>
#include <vector>

#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::caps;
using small::six_hidden;
using small::three_queued;

namespace {}  // namespace

TEST_CASE("tune: every point of the curve, best, bounds and partition of six hidden layers") {
  // T(k) = 100 + 100 k; step = 3400 + 6000 + T(last bucket).
  const TuneResult result = six_hidden(3400, 100, 100).tune();
  struct Row {
    std::optional<double> cap;
    double first;
    std::pair<double, double> range;
    Duration step;
    Duration exposed;
    std::size_t buckets;
  };
  const double open = mib(5 * 1_MiB + 1_B);
  const std::vector<Row> by_hand = {
      {1, 1, caps(Bytes(), 1_MiB), 9600_us, 200_us, 6},
      {2, 2, caps(1_MiB + 1_B, 2 * 1_MiB), 9700_us, 300_us, 3},
      {3, 3, caps(2 * 1_MiB + 1_B, 3 * 1_MiB), 9800_us, 400_us, 2},  // [3] [3]
      {4, 4, caps(3 * 1_MiB + 1_B, 4 * 1_MiB), 9700_us, 300_us, 2},  // [4] [2]
      {5, 5, caps(4 * 1_MiB + 1_B, 5 * 1_MiB), 9600_us, 200_us, 2},  // [5] [1]
      {open, open, {open, kNoLimitMb}, 10100_us, 700_us, 1},         // [6]
      {std::nullopt, 1, {25, 25}, 10000_us, 600_us, 2},              // [1] [5], the default
      {std::nullopt, 2, {25, 25}, 9900_us, 500_us, 2},               // [2] [4]
  };
  REQUIRE(result.curve.size() == by_hand.size());
  for (std::size_t i = 0; i < by_hand.size(); ++i) {
    CAPTURE(i);
    const CurvePoint& point = result.curve[i];
    CHECK(point.bucket_cap_mb == by_hand[i].cap);
    CHECK(point.first_bucket_mb == by_hand[i].first);
    CHECK(point.cap_range_mb == by_hand[i].range);
    CHECK(point.iteration == by_hand[i].step);
    CHECK(point.exposed_communication == by_hand[i].exposed);
    CHECK(point.buckets == by_hand[i].buckets);
    CHECK(point.reachable);
  }
  CHECK(result.default_setting.iteration == 10000_us);
  CHECK(result.default_setting.exposed_communication == 600_us);
  CHECK(result.default_setting.buckets == 2);
  CHECK_FALSE(result.default_setting.bucket_cap_mb);
  CHECK(result.default_setting.cap_range_mb == std::pair(25.0, 25.0));
  // Caps of 1 and of 5 MiB are equally fast, so the first counts.
  CHECK(result.best.bucket_cap_mb == 1);
  CHECK(result.best.iteration == 9600_us);
  CHECK(result.lower_bound == 9400_us);
  REQUIRE(result.best_partition);
  CHECK(result.best_partition->is_best_cap);
  CHECK(result.best_partition->reachable);
  CHECK(result.best_partition->iteration == 9600_us);
  CHECK(small::members(result.best_partition->buckets) ==
        std::vector<std::size_t>{1, 1, 1, 1, 1, 1});
  CHECK(result.left_out.empty());
  CHECK_FALSE(result.only_caps_asked);
}

TEST_CASE("tune: a partition that no cap gives can be set by a list of caps from 2.11 on") {
  // T(k) = 500 + 100 k. [1] [3] [2]: 1000 + 600, 2150 + 800 = 2950, 3000 + 700.
  //   [4] [2]  2150 + 900 + 700     [3] [3]  3800     [2] [4]  3900     default  4000
  small::OpenJob job{.workload = small::mib_layers({1000, 2050, 2100, 2150, 2950, 3000}, 1000),
                     .model = small::alpha_beta(500, 100)};
  for (const auto& [torch, unused, reachable] :
       {std::tuple(TorchVersion{2, 10}, false, false), std::tuple(TorchVersion{2, 11}, false, true),
        std::tuple(TorchVersion{2, 11}, true, false)}) {
    const int minor = torch.minor;  // clang 14: captures cannot name structured bindings
    const bool never_rebuilt = unused;
    CAPTURE(minor);
    CAPTURE(never_rebuilt);
    job.options.torch = torch;
    job.options.ddp_to_set().find_unused_parameters = unused;  // then buckets are never rebuilt
    const TuneResult result = job.tune();
    REQUIRE(result.best_partition);
    CHECK(small::members(result.best_partition->buckets) == std::vector<std::size_t>{1, 3, 2});
    CHECK(result.best_partition->reachable == reachable);
    CHECK_FALSE(result.best_partition->is_best_cap);
    if (unused) continue;  // the map of used parameters is sent too
    CHECK(result.best_partition->iteration == 4700_us);
    CHECK(result.best.iteration == 4750_us);
  }
}

TEST_CASE("tune: the lower bound is a step with only the copies of collectives") {
  small::OpenJob job = three_queued(1000, 100, 1000, 100);
  job.options.costs.copy_kernel = 10_us;  // three in, three out
  const Duration bound = 1000_us + 300_us + 60_us;
  CHECK(job.tune().lower_bound == bound);
  DdpCosts& costs = job.options.costs;
  for (Duration* cost : {&costs.host_hook, &costs.host_launch, &costs.launch_latency,
                         &costs.event_latency, &costs.host_comm_hook})
    *cost = 2000_us;
  CHECK(job.tune().lower_bound == bound);
  job.options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  CHECK(job.tune().lower_bound == bound);
  job.options.ddp_to_set().comm_hook = CommHook::none;
  job.options.ddp_to_set().find_unused_parameters = true;
  costs.host_search_per_parameter = 2000_us;
  CHECK(job.tune().lower_bound == bound + 10_us);  // the map is copied to the device
}

TEST_CASE("tune: what was not searched is passed on") {
  // 448 first buckets times 447 caps, which the search leaves out.
  small::OpenJob job{.workload = small::mib_layers(std::vector<double>(448, 100), 100),
                     .model = FreeModel{}};
  job.options.torch = {2, 4};
  const TuneResult result = job.tune({.caps = {}, .threads = 1});
  CHECK(result.left_out.starts_with("448 first buckets with 447 caps each are too many to try"));
  CHECK(result.curve.size() == 894);
}

TEST_CASE("tune: neither curve nor advice depends on the number of threads") {
  const small::OpenJob job = six_hidden(2900, 850, 50);
  const TuneResult one = job.tune({.threads = 1});
  for (const int threads : {0, 2, 7}) {
    const TuneResult many = job.tune({.threads = threads});
    REQUIRE(many.curve.size() == one.curve.size());
    for (std::size_t i = 0; i < one.curve.size(); ++i)
      CHECK(many.curve[i].iteration == one.curve[i].iteration);
    CHECK(many.recommended.gain == one.recommended.gain);
    CHECK(many.recommended.bucket_cap_mb == one.recommended.bucket_cap_mb);
    CHECK(many.recommended.reason == one.recommended.reason);
  }
}
