// Which cap is recommended, the range around it, and how it is written.
#include <doctest/doctest.h>

#include <vector>

#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::caps;
using small::gain_us;
using small::six_hidden;
using small::three_queued;
using small::two_then_four;

TEST_CASE("tune: no cap of the range differs by a measurable amount, to the byte") {
  // Next to caps up to 1 MiB come [2] [2] [2], b = 100 us longer, and [3] [3], 200 us longer.
  CHECK(six_hidden(3400, 100, 100).advice().cap_range_mb == caps(Bytes(), 2 * 1_MiB));
  // A default of 9999 us: 99.99 us are measurable.
  CHECK(six_hidden(3399, 100, 100).advice().cap_range_mb == caps(Bytes(), 1_MiB));
}

TEST_CASE("tune: the range reaches down and up from the cap, and ends at the first that differs") {
  // Five gradients come early, T(k) = 500 + 100 k. [5] [1] takes 3000 + 600, and [1] x 6 takes 3100
  // + 600. The former is more certain: in the slow scenario the latter takes 100 + 6 * 1020.
  //   [4] [2]  3700     [3] [3]  3800     [2] [2] [2]  3700     default  4000     [6]  4100
  const small::OpenJob job{.workload = small::mib_layers({100, 200, 300, 400, 500, 3000}, 6000),
                           .model = small::alpha_beta(500, 100)};
  const Recommendation advice = job.advice();
  CHECK(advice.bucket_cap_mb == 5);
  CHECK(advice.gain == gain_us(400, 240, 680));
  CHECK(advice.measurable == 100_us);
  CHECK(advice.cap_range_mb == caps(3 * 1_MiB + 1_B, 5 * 1_MiB));  // not beyond [3] [3]
  // [6] differs by 500 us. Once that is not measurable, the range is open upwards.
  CHECK(job.advice({.measurable_share = 0.05}).most_robust.has_value());
  // For requested caps it is unknown what lies between them, however similar they are.
  CHECK(job.advice({.caps = {4, 5}}).cap_range_mb == std::pair(5.0, 5.0));
  CHECK(six_hidden(3400, 100, 100).advice({.caps = {1, 2}}).cap_range_mb == std::pair(1.0, 1.0));
}

TEST_CASE(
    "tune: one bucket of everything is an open range, named by the cap nearest to the default") {
  // T = 1100, 1200, 1300: default 100 + 1100 + 1200, one bucket 300 + 1300.
  const TuneResult result = three_queued(1000, 100, 1000, 100).tune();
  CHECK(result.default_setting.iteration == 3400_us);
  CHECK(result.best.iteration == 2600_us);
  CHECK(result.lower_bound == 1300_us);
  const Recommendation& advice = result.recommended;
  CHECK(advice.bucket_cap_mb == 25);
  CHECK(advice.cap_range_mb == std::pair(mib(2 * 1_MiB + 1_B), kNoLimitMb));
  CHECK(advice.gain == gain_us(800, 0.6 * 1000 - 200, 1.7 * 1000 - 200));
  CHECK(advice.python == "DistributedDataParallel(model, bucket_cap_mb=25)");
  CHECK(advice.reason == "all-reduces take 1.3 ms together, not 2.3 ms; 1 all-reduce, not 2");
}

TEST_CASE("tune: a range of caps includes no setting of the first bucket, however good") {
  // Only starting takes time. [0.5] and the rest begins at 100 and ends at 2100, one bucket runs
  // from 1100 to 2100. The default, whose first 1 MiB is ready at 1000, takes 2000 from then.
  const small::OpenJob job{
      .workload = small::chain({{512 << 10, 100}, {512 << 10, 1000}, {1 << 20, 1100}}, 0, 1100),
      .model = small::alpha_beta(1000, 1e-3)};
  const TuneResult result = job.tune();
  REQUIRE(result.curve.size() == 4);
  CHECK_FALSE(result.curve[3].bucket_cap_mb);
  CHECK(result.curve[3].first_bucket_mb == 0.5);
  CHECK(result.curve[3].iteration < result.default_setting.iteration - 890_us);
  CHECK(result.recommended.bucket_cap_mb.has_value());
  CHECK(result.recommended.cap_range_mb == std::pair(mib(1_MiB + 1_B), kNoLimitMb));
}

TEST_CASE("tune: the most robust cap is recommended, not the fastest") {
  // T(k) = 850 + 50 k fills 900 to 1100 of every 1000 us. In the slow scenario one bucket per
  // gradient queues: 1000 + 6 * 1530. Among the others, [2] [2] [2] exposes least.
  //
  //   [1] x 6  6900     [2] x 3  6950     [4] [2]  6950     [3] [3]  7000     [5] [1]  6100 + 900
  //   default  7100     [6]  7150
  const TuneResult result = six_hidden(2900, 850, 50).tune();
  CHECK(result.best.bucket_cap_mb == 1);
  CHECK(result.best.iteration == 9800_us);
  const Recommendation& advice = result.recommended;
  CHECK(advice.set);
  CHECK(advice.bucket_cap_mb == 2);
  // 0.6 (T(5) - T(2)); 1.7: 6000 + 1870 - (6000 + 1615).
  CHECK(advice.gain == gain_us(150, 90, 255));
  CHECK(advice.cap_range_mb == caps(Bytes(), 5 * 1_MiB));  // all within 100 us of it
  CHECK(advice.reason ==
        "the last bucket, which cannot be hidden, shrinks from 5 MiB to 2 MiB; 3 all-reduces, not "
        "2");
  // It is considered if its gain is measurable: 150 us of 15000, but not of 15001.
  CHECK(six_hidden(7900, 850, 50).advice().bucket_cap_mb == 2);
  const Recommendation fastest = six_hidden(7901, 850, 50).advice();
  CHECK_FALSE(fastest.set);
  CHECK(fastest.most_robust->value == 200_us);
  CHECK(fastest.most_robust->low < Duration());
}

TEST_CASE("tune: a second number to set must gain a quarter of the measurable") {
  // T's scenarios make 1.09 of every gain: [2] [4] is expected to gain 545, and [2] [2] [2], with
  // only a cap, 1.09 a less. A quarter of 1 % of 21800 is 54.5.
  const Recommendation one = two_then_four(16250, 50).advice();
  CHECK_FALSE(one.first_bucket_mb);
  // 2 MiB gains 500 - a. [1] x 6 gains another 2 a less, within half of the measurable, so the
  // middle of both is used.
  CHECK(one.bucket_cap_mb == 1);
  CHECK(one.gain == gain_us(350, 210, 595));
  CHECK(one.cap_range_mb == caps(Bytes(), 2 * 1_MiB));

  const Recommendation two = two_then_four(16249, 51).advice();  // 1.09 * 51 = 55.59
  CHECK(two.set);
  CHECK_FALSE(two.bucket_cap_mb);
  CHECK(two.first_bucket_mb == 2);
  CHECK(two.gain == gain_us(500, 300, 850));
  CHECK(two.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(two.python == "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 2097152");
  CHECK(two.reason == "the last bucket, which cannot be hidden, shrinks from 5 MiB to 4 MiB");
}

TEST_CASE("tune: first bucket and cap are both written if the version supports both") {
  small::OpenJob job = two_then_four(18399, 101);
  job.options.torch = {2, 4};
  const Recommendation advice = job.advice();
  CHECK(advice.first_bucket_mb == 2);
  CHECK(advice.bucket_cap_mb == 25);  // [4] from 3 MiB and a byte
  CHECK(advice.gain == gain_us(500, 300, 850));
  // After a first bucket of 2 MiB: [3] [1] and [2] [2] take a = 101 us longer, [1] x 4 303 us.
  CHECK(advice.cap_range_mb == std::pair(mib(1_MiB + 1_B), kNoLimitMb));
  CHECK(advice.python ==
        "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 2097152; "
        "DistributedDataParallel(model, bucket_cap_mb=25)");
}

TEST_CASE("tune: before 2.5 a cap alone leaves the first bucket at 1 MiB, so both are written") {
  // All-reduces take 2, 2, 3, 0 and 5 ms by their position. Eight gradients come a millisecond
  // apart:
  //
  //   [2] [2] [2] [2]       4, 6, 9                9 ms
  //
  //   [1] [3] [3] [1]       3, 6, 7 + 3           10 ms     [1] [7], the default   8 + 2
  //
  //   [1] [2] [2] [2] [1]   3, 5, 8, 8, 8 + 5     13 ms     which a cap of 2 MiB gives before 2.5
  small::OpenJob job{
      .workload = small::mib_layers({1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000}, 0),
      .model = RecordedModel{.durations = {2_ms, 2_ms, 3_ms, Duration(), 5_ms}, .channels = 0}};
  const Recommendation later = job.advice();
  CHECK(later.bucket_cap_mb == 2);
  CHECK_FALSE(later.first_bucket_mb);
  job.options.torch = {2, 4};
  const Recommendation before = job.advice();
  CHECK(before.bucket_cap_mb == 2);
  CHECK(before.first_bucket_mb == 2);
  CHECK(before.python ==
        "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 2097152; "
        "DistributedDataParallel(model, bucket_cap_mb=2)");
  for (const Recommendation& advice : {later, before}) {
    CHECK(advice.set);
    CHECK(advice.gain == gain_us(1000, 1000, 1000));  // nothing in a replay is uncertain
    CHECK(advice.cap_range_mb == caps(1_MiB + 1_B, 2 * 1_MiB));
  }
}

TEST_CASE("tune: rounding a cap never makes its gain unmeasurable") {
  // Eight gradients of 0.75 MiB, T = 400 + 24 for each; default [2] [6]. One bucket each gains 5 *
  // 24 = 120 us, exactly the measurable; 1 MiB, rounder, would form pairs and gain 96.
  std::vector<small::Gradient> gradients;
  for (int k = 1; k <= 8; ++k) gradients.push_back({768 << 10, 1000.0 * k});
  const small::OpenJob job{.workload = small::chain(gradients, 3456, 8000),
                           .model = small::alpha_beta(400, 32)};
  const Recommendation advice = job.advice();
  CHECK(advice.measurable == 120_us);
  CHECK(advice.set);
  CHECK(advice.bucket_cap_mb == 0.5);
  CHECK(advice.gain == gain_us(120, 72, 204));
}

TEST_CASE("tune: a cap is rounded into a neighbour that is as good") {
  // As above, in a step so short that 96 us suffice: pairs, by the rounder number.
  std::vector<small::Gradient> gradients;
  for (int k = 1; k <= 8; ++k) gradients.push_back({768 << 10, 1000.0 * k});
  const small::OpenJob job{.workload = small::chain(gradients, 1056, 8000),
                           .model = small::alpha_beta(400, 32)};
  const Recommendation advice = job.advice();
  // A quarter of it is exactly the difference of the two.
  CHECK(advice.measurable == 96_us);
  CHECK(advice.bucket_cap_mb == 1);
  CHECK(advice.gain == gain_us(96, 57.6, 163.2));
  CHECK(advice.reason ==
        "the last bucket, which cannot be hidden, shrinks from 4.5 MiB to 1.5 MiB; 4 all-reduces, "
        "not 2");
}

TEST_CASE("tune: among equally good caps, the one with the larger expected gain") {
  // T(k) = 500 + 500 k. Four gradients come early, the fifth at 5000. With caps up to 1, 2 and 4
  // MiB it is sent alone and ends at 6000.
  // In the slow scenario [1] x 5 ends at 100 + 5 * 1700, and [2] [2] [1] at 200 + 2 * 2550 + 1700.
  // [4] [1] ends at 5000 + 1700, and the default, [1] [4], at 5000 + 4250.
  const small::OpenJob job{.workload = small::mib_layers({100, 200, 300, 400, 5000}, 0),
                           .model = small::alpha_beta(500, 500)};
  const TuneResult result = job.tune();
  CHECK(result.best.bucket_cap_mb == 1);
  CHECK(result.best.iteration == 6000_us);
  const Recommendation& advice = result.recommended;
  CHECK(advice.bucket_cap_mb == 2);  // nobody types 4
  CHECK(advice.gain == gain_us(1500, 900, 2250));
  CHECK(advice.expected == 1545_us);
  CHECK(advice.cap_range_mb == caps(Bytes(), 2 * 1_MiB));
  CHECK(
      advice.reason ==
      "the last bucket, which cannot be hidden, shrinks from 4 MiB to 1 MiB; 3 all-reduces, not 2");
}

TEST_CASE("tune: the middle of a broad plateau, not a slightly better notch next to a cliff") {
  // Three of four gradients together: above 3.26 MiB, which two of them have, up to 3.28. Nothing
  // measurable is lost anywhere from 0 to 3.26. With all four in one bucket, the last megabyte is
  // waited for.
  const small::OpenJob job{
      .workload =
          small::chain({{1 << 20, 100}, {2'369'780, 200}, {20'972, 600}, {1 << 20, 4180}}, 0, 4180),
      .model = small::alpha_beta(300, 1000)};
  const TuneResult result = job.tune();
  CHECK(result.best.cap_range_mb == caps(Bytes(3'418'357), Bytes(3'439'328)));
  const Recommendation& advice = result.recommended;
  CHECK(result.best.iteration == 5480_us);
  CHECK(advice.bucket_cap_mb == 2);
  CHECK(advice.gain.value.microseconds() == doctest::Approx(2260).epsilon(1e-5));  // of 2280
  REQUIRE(advice.next_worse);
  // One bucket each takes 80 us more; 77.6 us are measurable.
  REQUIRE(advice.next_worse->below);
  CHECK(advice.next_worse->below->cap_mb == mib(Bytes(20'972)));
  REQUIRE(advice.next_worse->above);
  CHECK(advice.next_worse->above->cap_mb == mib(Bytes(3'439'329)));
  CHECK(advice.next_worse->above->loss.microseconds() == doctest::Approx(3260).epsilon(1e-5));
  CHECK_FALSE(
      // The surroundings of requested caps were not searched.
      job.advice({.caps = {2}}).next_worse);
}

TEST_CASE("tune: among equally good caps that people type, the middle one") {
  // Three gradients of x MiB; by default the second and third share a bucket. At most two together
  // are as good as each alone: 0 to 2 x.
  const auto up_to_two = [](std::int64_t bytes) {
    const double mib_us = 1000 / mib(Bytes(bytes));
    const small::OpenJob job{
        .workload = small::chain({{bytes, 4000}, {bytes, 8000}, {bytes, 12000}}, 0, 12000),
        .model = small::alpha_beta(0, mib_us)};
    return job.advice().bucket_cap_mb;
  };
  CHECK(up_to_two(1 << 20) == 1);
  CHECK(up_to_two(2 << 20) == 2);
  CHECK(up_to_two(4 << 20) == 2);
  // 2 is the middle, and 5 gives the same buckets.
  CHECK(up_to_two(6 << 20) == 5);
  CHECK(up_to_two(12 << 20) == 10);
  CHECK(up_to_two(13 << 20) == 10);
  CHECK(up_to_two(24 << 20) == 10);
  // If starting takes the time, all three together: from 2 x plus a byte.
  const auto from_two = [](std::int64_t bytes) {
    const small::OpenJob job{
        .workload = small::chain({{bytes, 100}, {bytes, 200}, {bytes, 300}}, 0, 300),
        .model = small::alpha_beta(1000, 1e-3)};
    return job.advice().bucket_cap_mb;
  };
  CHECK(from_two(3 << 20) == 25);
  CHECK(from_two(20 << 20) == 50);
  CHECK(from_two(80 << 20) == 200);
  // A gradient of 0.09 MiB, which the default's first 1 MiB holds together with another: 0 to 0.09.
  const small::OpenJob less{.workload = small::chain({{94'372, 1000}, {1 << 20, 3000}}, 0, 3000),
                            .model = small::alpha_beta(0, 1000)};
  CHECK_FALSE(less.advice().set);
  CHECK(less.advice().reason == "no common cap gains as much as could be measured");
  CHECK(round_cap(3.261, 3.279) == 3.27);
}

namespace {

/// Starting takes the time, and one bucket gains 800 us (T = 1100, 1200, 1300).
small::OpenJob worth_a_cap() {
  return three_queued(1000, 100, 1000, 100);
}

/// NCCL over InfiniBand between nodes of one GPU, by data sheet values.
small::OpenJob over_infiniband(int nodes) {
  small::OpenJob job = worth_a_cap();
  job.cluster.nodes = nodes;
  job.cluster.gpus_per_node = 1;
  job.cluster.intra = {};
  job.cluster.network = {.kind = NetworkKind::infiniband,
                         .nics_per_node = 1,
                         .per_nic = Bandwidth::gigabytes_per_second(12.5),
                         .latency = 1_ms};
  job.model =
      AnalyticModel{.tuning = {.algorithms = Algorithm::ring, .protocols = Protocol::simple}};
  return job;
}

/// A neighbour of two processes whose collectives take other times.
NearCluster near(std::string difference, const Cluster& cluster) {
  return {std::move(difference), std::make_shared<const Cluster>(cluster)};
}

}  // namespace

TEST_CASE("tune: a cap is set if the nodes resemble measured ones, else measured first") {
  CHECK(over_infiniband(32).advice().set);  // four times eight
  const Recommendation far = over_infiniband(33).advice();
  CHECK_FALSE(far.set);
  REQUIRE(far.measure_first);
  CHECK(far.measure_first->doubt == Doubt::sizes);
  CHECK(far.measure_first->because ==
        "all-reduces of such GPUs over such a network were measured on at most 8 nodes, which "
        "supports up to 32, but this job has 33");
  CHECK(far.measure_first->command.starts_with("mpirun -np 33 -N 1 all_reduce_perf -b "));
}

TEST_CASE("tune: a cap that gains nothing for a neighbour is measured first") {
  small::OpenJob job = over_infiniband(8);
  job.workload = small::mib_layers({100, 200, 300}, 40'000);  // 1 % is more than a launch
  CHECK(job.advice().set);
  Cluster fast = job.cluster;
  fast.network.latency = 1_us;
  job.cluster.near = {near("on 9 nodes", job.cluster), near("with NICs 5 % faster", fast)};
  const Recommendation advice = job.advice();
  CHECK_FALSE(advice.set);
  REQUIRE(advice.measure_first);
  CHECK(advice.measure_first->doubt == Doubt::neighbour);
  CHECK(advice.measure_first->because.starts_with("with NICs 5 % faster it would "));
  job.cluster.near.pop_back();
  CHECK(job.advice().set);
}

TEST_CASE("tune: buckets above twice the largest published one are not recommended unmeasured") {
  // With a cap of 200 MiB the two form one bucket, which saves a start of 100 ms.
  const auto joined = [](std::int64_t first_mib, std::int64_t second_mib) {
    const small::OpenJob job{
        .workload = small::chain({{first_mib << 20, 100}, {second_mib << 20, 200}}, 0, 200),
        .model = small::alpha_beta(100'000, 1e-3)};
    return job.advice();
  };
  CHECK(joined(150, 250).bucket_cap_mb == 200);  // 400 MiB together
  const Recommendation larger = joined(150, 251);
  CHECK_FALSE(larger.set);
  REQUIRE(larger.measure_first);
  CHECK(larger.measure_first->doubt == Doubt::sizes);
  CHECK(larger.measure_first->because ==
        "it makes all-reduces of 401 MiB, but no step was measured with buckets above 200 MiB");
}

TEST_CASE("tune: caps below 0.5 MiB are weighed for models of 5 MiB of gradients, not of 6") {
  const auto typed = [](const small::OpenJob& job) { return typed_caps(job); };
  const small::OpenJob five{.workload = small::mib_layers({1, 2, 3, 4, 5}, 100),
                            .model = small::alpha_beta(10, 10)};
  CHECK(typed(five).front() == 0.1);
  CHECK(typed(six_hidden(100, 10, 10)).front() == 0.5);
  CHECK(typed(five).back() == typed(six_hidden(100, 10, 10)).back());
}
