// What `tune` advises, on curves small enough for paper. An all-reduce of k MiB takes a + b k; what it
// may take is 0.6 and 1.7 times that, and nothing else is uncertain (alpha_beta.hpp).
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "alpha_beta.hpp"
#include "bucketing_search.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr Bytes kMib = 1_MiB;
constexpr Bytes kOne{1};

/// Six gradients, ready 1000 us apart: with a + 5 b below that, only the last bucket is exposed.
worlds::Job six_hidden(double forward_us, double start_us, double mib_us) {
  return {.workload = worlds::mib_layers({1000, 2000, 3000, 4000, 5000, 6000}, forward_us),
          .model = worlds::alpha_beta(start_us, mib_us)};
}

/// Three gradients in quick succession: every bucket waits for the one in front.
///   default [1] [2]   gap + T(1) + T(2) = gap + 2a + 3b
///   one bucket        3 gap + T(3)      = 3 gap + a + 3b     a gain of a - 2 gap
worlds::Job three_queued(double forward_us, double gap_us, double start_us, double mib_us) {
  return {.workload = worlds::mib_layers({gap_us, 2 * gap_us, 3 * gap_us}, forward_us),
          .model = worlds::alpha_beta(start_us, mib_us)};
}

/// Two gradients early, four at the end of backward: 2 MiB apart and four together is best.
worlds::Job two_then_four(double forward_us, double start_us) {
  return {.workload = worlds::mib_layers({100, 200, 3000, 3000, 3000, 3000}, forward_us),
          .model = worlds::alpha_beta(start_us, 500)};
}

Gain gain_us(double value, double low, double high) {
  return {Duration::microseconds(value), Duration::microseconds(low), Duration::microseconds(high)};
}

std::pair<double, double> caps(Bytes from, Bytes to) {
  return {mib(from), mib(to)};
}

}  // namespace

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
  const double open = mib(5 * kMib + kOne);
  const std::vector<Row> by_hand = {
      {1, 1, caps(Bytes(), kMib), 9600_us, 200_us, 6},
      {2, 2, caps(kMib + kOne, 2 * kMib), 9700_us, 300_us, 3},
      {3, 3, caps(2 * kMib + kOne, 3 * kMib), 9800_us, 400_us, 2},  // [3] [3]
      {4, 4, caps(3 * kMib + kOne, 4 * kMib), 9700_us, 300_us, 2},  // [4] [2]
      {5, 5, caps(4 * kMib + kOne, 5 * kMib), 9600_us, 200_us, 2},  // [5] [1]
      {open, open, {open, kNoLimitMb}, 10100_us, 700_us, 1},        // [6]
      {std::nullopt, 1, {25, 25}, 10000_us, 600_us, 2},             // [1] [5], the default
      {std::nullopt, 2, {25, 25}, 9900_us, 500_us, 2},              // [2] [4]
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
  // Caps of 1 and of 5 MiB are equally fast: the first counts.
  CHECK(result.best.bucket_cap_mb == 1);
  CHECK(result.best.iteration == 9600_us);
  CHECK(result.lower_bound == 9400_us);
  REQUIRE(result.best_partition);
  CHECK(result.best_partition->is_best_cap);
  CHECK(result.best_partition->reachable);
  CHECK(result.best_partition->iteration == 9600_us);
  CHECK(worlds::members(result.best_partition->buckets) ==
        std::vector<std::size_t>{1, 1, 1, 1, 1, 1});
  CHECK(result.left_out.empty());
  CHECK_FALSE(result.only_caps_asked);
}

TEST_CASE("tune: the cap's gain is that of the default's step, low and high those of both worlds") {
  // Gain 4 b = 400, and as only bytes of a hidden step's last bucket count, 0.6 and 1.7 times that.
  const Recommendation advice = six_hidden(3400, 100, 100).advice();
  CHECK(advice.set);
  CHECK(advice.bucket_cap_mb == 1);
  CHECK_FALSE(advice.first_bucket_mb);
  CHECK(advice.gain == gain_us(400, 240, 680));
  CHECK(advice.measurable == 100_us);  // 1 % of 10000
  CHECK(advice.python == "DistributedDataParallel(model, bucket_cap_mb=1)");
  CHECK(advice.reason == "6 buckets instead of 2");
  CHECK_FALSE(advice.surest);
}

TEST_CASE("tune: any cap of the range differs by no more than can be measured, to the byte") {
  // Next to a cap of up to 1 MiB stands [2] [2] [2], b = 100 us longer, and [3] [3], 200 us.
  CHECK(six_hidden(3400, 100, 100).advice().cap_range_mb == caps(Bytes(), 2 * kMib));
  // A default of 9999 us: 99.99 us can be told apart.
  CHECK(six_hidden(3399, 100, 100).advice().cap_range_mb == caps(Bytes(), kMib));
}

TEST_CASE("tune: the range reaches down and up from the cap, and ends at the first that differs") {
  // Five gradients early, T(k) = 500 + 100 k. Of [5] [1], 3000 + 600, and [1] x 6, 3100 + 600, the
  // former is sure: in the slow world the other takes 100 + 6 * 1020.
  //   [4] [2]  3700     [3] [3]  3800     [2] [2] [2]  3700     default  4000     [6]  4100
  const worlds::Job job{.workload = worlds::mib_layers({100, 200, 300, 400, 500, 3000}, 6000),
                        .model = worlds::alpha_beta(500, 100)};
  const Recommendation advice = job.advice();
  CHECK(advice.bucket_cap_mb == 5);
  CHECK(advice.gain == gain_us(400, 240, 680));
  CHECK(advice.measurable == 100_us);
  CHECK(advice.cap_range_mb == caps(3 * kMib + kOne, 5 * kMib));  // not beyond [3] [3]
  // Apart from [6] by 500 us: as soon as that cannot be told, the range is open upwards.
  CHECK(job.advice({.measurable_share = 0.05}).surest.has_value());
  // Of caps asked for nobody knows what lies between them, however alike they are.
  CHECK(job.advice({.caps = {4, 5}}).cap_range_mb == std::pair(5.0, 5.0));
  CHECK(six_hidden(3400, 100, 100).advice({.caps = {1, 2}}).cap_range_mb == std::pair(1.0, 1.0));
}

TEST_CASE("tune: one bucket of everything is a range without an upper end, named by a round cap") {
  // T = 1100, 1200, 1300: default 100 + 1100 + 1200, one bucket 300 + 1300.
  const TuneResult result = three_queued(1000, 100, 1000, 100).tune();
  CHECK(result.default_setting.iteration == 3400_us);
  CHECK(result.best.iteration == 2600_us);
  CHECK(result.lower_bound == 1300_us);
  const Recommendation& advice = result.recommended;
  CHECK(advice.bucket_cap_mb == 3);
  CHECK(advice.cap_range_mb == std::pair(mib(2 * kMib + kOne), kNoLimitMb));
  CHECK(advice.gain == gain_us(800, 0.6 * 1000 - 200, 1.7 * 1000 - 200));
  CHECK(advice.python == "DistributedDataParallel(model, bucket_cap_mb=3)");
  CHECK(advice.reason == "1 bucket instead of 2");
}

TEST_CASE("tune: a range of caps takes in no setting of the first bucket, however good") {
  // All start-up: [0.5] and the rest begins at 100 and ends at 2100, one bucket 1100 to 2100, but the
  // default, whose first 1 MiB is there at 1000, takes 2000 from then.
  const worlds::Job job{
      .workload = worlds::chain({{512 << 10, 100}, {512 << 10, 1000}, {1 << 20, 1100}}, 0, 1100),
      .model = worlds::alpha_beta(1000, 1e-3)};
  const TuneResult result = job.tune();
  REQUIRE(result.curve.size() == 4);
  CHECK_FALSE(result.curve[3].bucket_cap_mb);
  CHECK(result.curve[3].first_bucket_mb == 0.5);
  CHECK(result.curve[3].iteration < result.default_setting.iteration - 890_us);
  CHECK(result.recommended.bucket_cap_mb.has_value());
  CHECK(result.recommended.cap_range_mb == std::pair(mib(kMib + kOne), kNoLimitMb));
}

TEST_CASE("tune: a cap whose gain may be negative is not recommended") {
  // a = 250: 50 us are won, but where collectives take 0.6 of it, 50 us are lost.
  const TuneResult result = three_queued(1000, 100, 250, 150).tune();
  const Recommendation& advice = result.recommended;
  CHECK(result.best.iteration == 2000_us);
  CHECK(result.default_setting.iteration == 2050_us);
  CHECK_FALSE(advice.set);
  CHECK_FALSE(advice.bucket_cap_mb);
  CHECK_FALSE(advice.first_bucket_mb);
  CHECK(advice.python.empty());
  CHECK(advice.gain == Gain{});
  REQUIRE(advice.surest);
  CHECK(*advice.surest == gain_us(50, -50, 225));
  CHECK(advice.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(advice.reason ==
        "a larger gain is predicted, but within what is not known about this cluster it may be "
        "none");
}

TEST_CASE("tune: a cap that may win nothing is not recommended, one that wins a little always is") {
  // 0.6 a - 2 gap: nothing with gaps of 150, 2 us with 149.
  const Recommendation nothing = three_queued(1000, 150, 500, 150).advice();
  CHECK_FALSE(nothing.set);
  CHECK(*nothing.surest == gain_us(200, 0, 550));
  const Recommendation little = three_queued(1000, 149, 500, 150).advice();
  CHECK(little.set);
  CHECK(little.gain == gain_us(202, 2, 552));
}

TEST_CASE("tune: what can be measured is a share of the default's step, and as much is enough") {
  const Recommendation enough = three_queued(77600, 100, 1000, 100).advice();
  CHECK(enough.measurable == 800_us);  // of 77600 + 2400
  CHECK(enough.set);
  const Recommendation less = three_queued(77601, 100, 1000, 100).advice();
  CHECK_FALSE(less.set);
  CHECK(*less.surest == gain_us(800, 400, 1500));
  CHECK(less.reason == "no other bucketing gains as much as could be measured");
  const worlds::Job short_step = three_queued(1000, 100, 1000, 100);
  CHECK(short_step.advice({.measurable_share = 0.2}).measurable == 680_us);
  CHECK(short_step.advice({.measurable_share = 0.2}).set);
  CHECK_FALSE(short_step.advice({.measurable_share = 0.25}).set);  // 850
}

TEST_CASE("tune: where the default is fastest, it is kept, and nothing is said to be won") {
  // T = 250, 350, 450: default 100 + 250 + 350; [1] x 3 850, [2] [1] 800, [3] 750.
  const worlds::Job job = three_queued(1000, 100, 150, 100);
  const TuneResult result = job.tune();
  CHECK(result.best.iteration == 1700_us);
  CHECK_FALSE(result.best.bucket_cap_mb);
  CHECK(result.recommended.reason == "no other bucketing is faster");
  CHECK(*result.recommended.surest == Gain{});
  // A cap asked for may even lose: 0.6 (560 - 510), 1.7 (1220 - 1120).
  const Recommendation asked = job.advice({.caps = {2}});
  CHECK_FALSE(asked.set);
  CHECK(asked.reason == "no other bucketing is faster");
  CHECK(*asked.surest == gain_us(-100, -100, -50));
}

TEST_CASE("tune: the surest cap is recommended, not the fastest") {
  // T(k) = 850 + 50 k fills 900 to 1100 of every 1000 us. In the slow world one bucket per gradient
  // queues up: 1000 + 6 * 1530. Of the others [2] [2] [2] exposes least.
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
  CHECK(advice.cap_range_mb == caps(Bytes(), 5 * kMib));  // all within 100 us of it
  CHECK(advice.reason ==
        "3 buckets instead of 2; not the fastest predicted, but the one whose gain is surest");
  // It is looked at as long as it gains what can be measured: 150 us of 15000, not of 15001.
  CHECK(six_hidden(7900, 850, 50).advice().bucket_cap_mb == 2);
  const Recommendation fastest = six_hidden(7901, 850, 50).advice();
  CHECK_FALSE(fastest.set);
  CHECK(fastest.surest->value == 200_us);
  CHECK(fastest.surest->low < Duration());
}

TEST_CASE("tune: a second number to set must earn a quarter of what can be measured") {
  // [2] [4] gains 500 and surely 300. [2] [2] [2] gains 500 - a, surely 0.6 of it, with a cap alone.
  const Recommendation one = two_then_four(18400, 100).advice();  // 300 = 240 + 240 / 4
  CHECK(one.bucket_cap_mb == 2);
  CHECK_FALSE(one.first_bucket_mb);
  CHECK(one.gain == gain_us(400, 240, 680));
  CHECK(one.cap_range_mb == caps(Bytes(), 2 * kMib));  // [1] x 6 takes 200 us longer

  const Recommendation two = two_then_four(18399, 101).advice();  // 300 > 239.4 + 60
  CHECK(two.set);
  CHECK_FALSE(two.bucket_cap_mb);
  CHECK(two.first_bucket_mb == 2);
  CHECK(two.gain == gain_us(500, 300, 850));
  CHECK(two.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(two.python == "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 2097152");
  CHECK(two.reason == "2 buckets instead of 2");
}

TEST_CASE("tune: first bucket and cap are both written where the version takes both") {
  worlds::Job job = two_then_four(18399, 101);
  job.options.ddp.torch = {2, 4};
  const Recommendation advice = job.advice();
  CHECK(advice.first_bucket_mb == 2);
  CHECK(advice.bucket_cap_mb == 5);  // [4] from 3 MiB and a byte
  CHECK(advice.gain == gain_us(500, 300, 850));
  // Behind a first bucket of 2 MiB: [3] [1] and [2] [2] take a = 101 us longer, [1] x 4 303 us.
  CHECK(advice.cap_range_mb == std::pair(mib(kMib + kOne), kNoLimitMb));
  CHECK(advice.python ==
        "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 2097152; "
        "DistributedDataParallel(model, bucket_cap_mb=5)");
}

TEST_CASE("tune: before 2.5 a cap alone leaves the first bucket at 1 MiB, so both are written") {
  // All-reduces take by their place 2, 2, 3, 0 and 5 ms. Of eight gradients a millisecond apart
  //   [2] [2] [2] [2]       4, 6, 9                9 ms
  //   [1] [3] [3] [1]       3, 6, 7 + 3           10 ms     [1] [7], the default   8 + 2
  //   [1] [2] [2] [2] [1]   3, 5, 8, 8, 8 + 5     13 ms     which a cap of 2 MiB gives before 2.5
  worlds::Job job{
      .workload = worlds::mib_layers({1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000}, 0),
      .model = RecordedModel{.durations = {2_ms, 2_ms, 3_ms, Duration(), 5_ms}, .channels = 0}};
  const Recommendation later = job.advice();
  CHECK(later.bucket_cap_mb == 2);
  CHECK_FALSE(later.first_bucket_mb);
  job.options.ddp.torch = {2, 4};
  const Recommendation before = job.advice();
  CHECK(before.bucket_cap_mb == 2);
  CHECK(before.first_bucket_mb == 2);
  CHECK(before.python ==
        "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 2097152; "
        "DistributedDataParallel(model, bucket_cap_mb=2)");
  for (const Recommendation& advice : {later, before}) {
    CHECK(advice.set);
    CHECK(advice.gain == gain_us(1000, 1000, 1000));  // nothing of a replay is uncertain
    CHECK(advice.cap_range_mb == caps(kMib + kOne, 2 * kMib));
  }
}

TEST_CASE("tune: rounding a cap never rounds its gain below what can be measured") {
  // Eight gradients of 0.75 MiB, T = 400 + 24 for each; default [2] [6]. One bucket each gains
  // 5 * 24 = 120 us, all that can be measured; 1 MiB, rounder, would make pairs and gain 96.
  std::vector<worlds::Gradient> gradients;
  for (int k = 1; k <= 8; ++k) gradients.push_back({768 << 10, 1000.0 * k});
  const worlds::Job job{.workload = worlds::chain(gradients, 3456, 8000),
                        .model = worlds::alpha_beta(400, 32)};
  const Recommendation advice = job.advice();
  CHECK(advice.measurable == 120_us);
  CHECK(advice.set);
  CHECK(advice.bucket_cap_mb == 0.5);
  CHECK(advice.gain == gain_us(120, 72, 204));
}

TEST_CASE("tune: a cap is rounded into a neighbour that is as good") {
  // As above in a step so short that 96 us are enough: pairs, by the rounder number.
  std::vector<worlds::Gradient> gradients;
  for (int k = 1; k <= 8; ++k) gradients.push_back({768 << 10, 1000.0 * k});
  const worlds::Job job{.workload = worlds::chain(gradients, 1056, 8000),
                        .model = worlds::alpha_beta(400, 32)};
  const Recommendation advice = job.advice();
  CHECK(advice.measurable == 96_us);  // a quarter of it is just what the two differ by
  CHECK(advice.bucket_cap_mb == 1);
  CHECK(advice.gain == gain_us(96, 57.6, 163.2));
  CHECK(advice.reason ==
        "4 buckets instead of 2; not the fastest predicted, but the one whose gain is surest");
}

TEST_CASE("tune: a rounder cap that is less sure is left, although predicted as good") {
  // T(k) = 500 + 500 k. Four gradients early, the fifth at 5000: [1] x 5 is through with four by 4100,
  // [2] [2] [1] by 3200, and both end at 6000. In the slow world the former ends at 100 + 5 * 1700,
  // the latter at 200 + 2 * 2550 + 1700, the default, [1] [4], at 5000 + 4250.
  const worlds::Job job{.workload = worlds::mib_layers({100, 200, 300, 400, 5000}, 0),
                        .model = worlds::alpha_beta(500, 500)};
  const TuneResult result = job.tune();
  CHECK(result.best.bucket_cap_mb == 1);
  CHECK(result.best.iteration == 6000_us);
  const Recommendation& advice = result.recommended;
  CHECK(advice.bucket_cap_mb == 2);  // not 1, in the middle of 0 to 2
  CHECK(advice.gain == gain_us(1500, 900, 2250));
  CHECK(advice.cap_range_mb == caps(Bytes(), 2 * kMib));
  CHECK(advice.reason == "3 buckets instead of 2");
}

TEST_CASE("tune: the cap is a round number near the middle of those that do as well") {
  // Three gradients of x MiB, of which the second and third travel together by default. Two at most
  // do as well as each alone: 0 to 2 x.
  const auto up_to_two = [](std::int64_t bytes) {
    const double mib_us = 1000 / mib(Bytes(bytes));
    const worlds::Job job{
        .workload = worlds::chain({{bytes, 4000}, {bytes, 8000}, {bytes, 12000}}, 0, 12000),
        .model = worlds::alpha_beta(0, mib_us)};
    return job.advice().bucket_cap_mb;
  };
  CHECK(up_to_two(1 << 20) == 1);
  CHECK(up_to_two(2 << 20) == 2);
  CHECK(up_to_two(4 << 20) == 5);
  CHECK(up_to_two(6 << 20) == 10);
  CHECK(up_to_two(12 << 20) == 10);
  CHECK(up_to_two(13 << 20) == 25);
  CHECK(up_to_two(24 << 20) == 25);
  // Where starting takes the time, all three together: from 2 x and a byte, taken to end at twice that.
  const auto from_two = [](std::int64_t bytes) {
    const worlds::Job job{
        .workload = worlds::chain({{bytes, 100}, {bytes, 200}, {bytes, 300}}, 0, 300),
        .model = worlds::alpha_beta(1000, 1e-3)};
    return job.advice().bucket_cap_mb;
  };
  CHECK(from_two(3 << 20) == 10);
  CHECK(from_two(20 << 20) == 50);
  CHECK(from_two(80 << 20) == 200);
  // A gradient of 0.4 MiB, which the default's first 1 MiB holds together with another: 0 to 0.4.
  const worlds::Job less{.workload = worlds::chain({{419'432, 1000}, {1 << 20, 3000}}, 0, 3000),
                         .model = worlds::alpha_beta(0, 1000)};
  CHECK(less.advice().bucket_cap_mb == 0.2);
  // Three of four gradients together: above 3.26 MiB, which two of them have, up to 3.28.
  const worlds::Job narrow{
      .workload = worlds::chain({{1 << 20, 100}, {2'369'780, 200}, {20'972, 600}, {1 << 20, 4180}},
                                0, 4180),
      .model = worlds::alpha_beta(300, 1000)};
  CHECK(narrow.advice().bucket_cap_mb == 3.27);
}

TEST_CASE("tune: what the replay of today's step misses scales the gain either way") {
  // 400 below and 700 above by collectives; 11.25 % of 800 either way: 410 and 706 together.
  const worlds::Job job = three_queued(1000, 100, 1000, 100);
  for (const double residual : {382.5, -382.5}) {
    CAPTURE(residual);
    const Replay replay{3400_us + Duration::microseconds(residual), 3400_us};
    const Recommendation advice = job.advice({.replay = replay});
    CHECK(advice.set);
    CHECK(advice.gain.value == 800_us);
    CHECK(advice.gain.low == 390_us);
    CHECK(advice.gain.high.microseconds() ==
          doctest::Approx(800 + std::sqrt(700.0 * 700 + 90 * 90)).epsilon(1e-9));
  }
}

TEST_CASE("tune: no cap is recommended that gains less than the replay misses, whichever way") {
  const worlds::Job job = three_queued(1000, 100, 1000, 100);
  CHECK(job.advice({.replay = Replay{4200_us, 3400_us}}).set);  // 800 missed, 800 gained
  CHECK(job.advice({.replay = Replay{2600_us, 3400_us}}).set);
  const Recommendation slower = job.advice({.replay = Replay{4201_us, 3400_us}});
  CHECK_FALSE(slower.set);
  CHECK(slower.surest->value == 800_us);
  CHECK(slower.reason == "the replay misses today's step by 19.1 %, more than a cap gains");
  CHECK(job.advice({.replay = Replay{2599_us, 3400_us}}).reason ==
        "the replay misses today's step by 30.8 %, more than a cap gains");
}

TEST_CASE("tune: what the replay misses may be what makes a gain doubtful") {
  // Gain 201, surely 1. The replay adds 201 * 159 / 1599.5 = 20.0 to the 200 of collectives as a
  // root of squares: 200.995. One microsecond more, and it is 201.007.
  const worlds::Job job = three_queued(0, 149.5, 500, 150);
  CHECK(job.step() == 1599.5_us);
  CHECK(job.advice().gain == gain_us(201, 1, 551));
  CHECK(job.advice({.replay = Replay{1758.5_us, 1599.5_us}}).set);
  const Recommendation doubtful = job.advice({.replay = Replay{1759.5_us, 1599.5_us}});
  CHECK_FALSE(doubtful.set);
  CHECK(doubtful.surest->low < Duration());
  CHECK(doubtful.reason.find("it may be none") != std::string::npos);
}

TEST_CASE("tune: where none of the caps asked for can be set, the default is kept") {
  worlds::Job job = six_hidden(3400, 100, 100);
  job.options.ddp.first_bucket_mb = 1;  // from 2.5 on a cap that is passed overrides it
  const TuneResult result = job.tune({.caps = {1, 5}});
  CHECK_FALSE(result.recommended.set);
  CHECK(result.recommended.reason == "none of the caps asked for can be set with this PyTorch");
  CHECK(result.best.iteration == result.default_setting.iteration);
  CHECK(result.only_caps_asked);
  REQUIRE(result.curve.size() == 2);
  CHECK(result.curve[1].iteration == 10000_us);  // [1] [5]
  CHECK_FALSE(result.curve[1].reachable);
  // The best cut [1] x 6 cannot be had either.
  CHECK(result.best_partition->iteration == 9600_us);
  CHECK_FALSE(result.best_partition->is_best_cap);
}

TEST_CASE("tune: a partition that no cap gives is reachable by a list of caps, from 2.11 on") {
  // T(k) = 500 + 100 k. [1] [3] [2]: 1000 + 600, 2150 + 800 = 2950, 3000 + 700.
  //   [4] [2]  2150 + 900 + 700     [3] [3]  3800     [2] [4]  3900     default  4000
  worlds::Job job{.workload = worlds::mib_layers({1000, 2050, 2100, 2150, 2950, 3000}, 1000),
                  .model = worlds::alpha_beta(500, 100)};
  for (const auto& [torch, unused, reachable] :
       {std::tuple(TorchVersion{2, 10}, false, false), std::tuple(TorchVersion{2, 11}, false, true),
        std::tuple(TorchVersion{2, 11}, true, false)}) {
    CAPTURE(torch.minor);
    CAPTURE(unused);
    job.options.ddp.torch = torch;
    job.options.ddp.find_unused_parameters = unused;  // then buckets are never rebuilt
    const TuneResult result = job.tune();
    REQUIRE(result.best_partition);
    CHECK(worlds::members(result.best_partition->buckets) == std::vector<std::size_t>{1, 3, 2});
    CHECK(result.best_partition->reachable == reachable);
    CHECK_FALSE(result.best_partition->is_best_cap);
    if (unused) continue;  // the map of used parameters travels, too
    CHECK(result.best_partition->iteration == 4700_us);
    CHECK(result.best.iteration == 4750_us);
  }
}

TEST_CASE("tune: the lower bound is a step without anything of collectives but copies") {
  worlds::Job job = three_queued(1000, 100, 1000, 100);
  job.options.costs.copy_kernel = 10_us;  // three in, three out
  const Duration bound = 1000_us + 300_us + 60_us;
  CHECK(job.tune().lower_bound == bound);
  DdpCosts& costs = job.options.costs;
  for (Duration* cost : {&costs.host_hook, &costs.host_launch, &costs.launch_latency,
                         &costs.event_latency, &costs.host_comm_hook})
    *cost = 2000_us;
  CHECK(job.tune().lower_bound == bound);
  job.options.ddp.comm_hook = CommHook::fp16_compress;
  CHECK(job.tune().lower_bound == bound);
  job.options.ddp.comm_hook = CommHook::none;
  job.options.ddp.find_unused_parameters = true;
  costs.host_search_per_parameter = 2000_us;
  CHECK(job.tune().lower_bound == bound);
}

TEST_CASE("tune: what was not searched is passed on") {
  // 448 first buckets times 447 caps, which the search leaves out.
  worlds::Job job{.workload = worlds::mib_layers(std::vector<double>(448, 100), 100),
                  .model = FreeModel{}};
  job.options.ddp.torch = {2, 4};
  const TuneResult result = job.tune({.caps = {}, .threads = 1});
  CHECK(result.left_out.starts_with("448 first buckets with 447 caps each are too many to try"));
  CHECK(result.curve.size() == 894);
}

TEST_CASE("tune: neither curve nor advice depends on the number of threads") {
  const worlds::Job job = six_hidden(2900, 850, 50);
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
