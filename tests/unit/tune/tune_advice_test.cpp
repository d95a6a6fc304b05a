// Whether another cap is recommended at all, and what is said about its gain.
#include <doctest/doctest.h>

#include <cmath>

#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::gain_us;
using small::six_hidden;
using small::three_queued;

TEST_CASE("tune: the cap's gain is over the default's step, low and high from both scenarios") {
  // The gain is 4 b = 400. Only bytes of a hidden step's last bucket count, so the bounds are 0.6
  // and 1.7 times that. They cannot exceed the 600 that communication costs in this step.
  const Recommendation advice = six_hidden(3400, 100, 100).advice();
  CHECK(advice.set);
  CHECK(advice.bucket_cap_mb == 1);
  CHECK_FALSE(advice.first_bucket_mb);
  CHECK(advice.gain == gain_us(400, 240, 600));
  CHECK(advice.measurable == 100_us);  // 1 % of 10000
  CHECK(advice.python == "DistributedDataParallel(model, bucket_cap_mb=1)");
  CHECK(advice.expected == 412_us);  // 400 - 0.3 * 160 + 0.3 * 200
  CHECK(advice.regret == 0_us);
  CHECK(
      advice.reason ==
      "the last bucket, which cannot be hidden, shrinks from 5 MiB to 1 MiB; 6 all-reduces, not 2");
  CHECK_FALSE(advice.most_robust);
}

TEST_CASE("tune: a cap that may lose more than could be measured is not recommended") {
  // a = 250: it gains 50 us, but if collectives take 0.6 of it, it loses 50 us.
  const TuneResult result = three_queued(1000, 100, 250, 150).tune();
  const Recommendation& advice = result.recommended;
  CHECK(result.best.iteration == 2000_us);
  CHECK(result.default_setting.iteration == 2050_us);
  CHECK_FALSE(advice.set);
  CHECK_FALSE(advice.bucket_cap_mb);
  CHECK_FALSE(advice.first_bucket_mb);
  CHECK(advice.python.empty());
  CHECK(advice.gain == Gain{});
  REQUIRE(advice.most_robust);
  CHECK(*advice.most_robust == gain_us(50, -50, 225));
  CHECK(advice.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(advice.reason == "a gain is predicted, but it may cost more than it is expected to gain");
  REQUIRE(advice.measure_first);
  const MeasureFirst& first = *advice.measure_first;
  CHECK(first.doubt == Doubt::loss);
  CHECK(first.bucket_cap_mb == 25);
  CHECK(first.gain == *advice.most_robust);
  CHECK(first.sizes ==
        // [1] [2] currently, [3] then; in powers of two.
        std::vector{2 * 1_MiB, 4 * 1_MiB});
  CHECK(first.command.starts_with("ddpsim-real "));
  // [3] takes 250 + 450, as long as 300 + 700 f leaves 20.5 of 1050: the step without forward.
  REQUIRE(first.set_up_to);
  CHECK(first.deciding == 4 * 1_MiB);
  CHECK(first.predicted == 850_us);
  CHECK(first.set_up_to->microseconds() ==
        doctest::Approx(850 * (1050 - 20.5 - 300) / 700).epsilon(1e-4));
}

TEST_CASE("tune: a loss that nobody could measure does not veto a gain") {
  // The loss is 0.6 a - 2 gap: -10 us of a step of 2605, -28 of one of 2614.
  const Recommendation little = three_queued(1000, 155, 500, 150).advice();
  CHECK(little.set);
  CHECK(little.gain == gain_us(190, -10, 540));
  CHECK(little.regret == 10_us);
  const Recommendation more = three_queued(1000, 164, 500, 150).advice();
  CHECK_FALSE(more.set);
  CHECK(*more.most_robust == gain_us(172, -28, 522));
}

TEST_CASE("tune: the measurable is a share of the default's step, and reaching it suffices") {
  const Recommendation enough = three_queued(77600, 100, 1000, 100).advice();
  CHECK(enough.measurable == 800_us);  // of 77600 + 2400
  CHECK(enough.set);
  const Recommendation less = three_queued(77601, 100, 1000, 100).advice();
  CHECK_FALSE(less.set);
  CHECK(*less.most_robust == gain_us(800, 400, 1500));
  CHECK(less.reason == "no other bucketing gains as much as could be measured");
  const small::OpenJob short_step = three_queued(1000, 100, 1000, 100);
  CHECK(short_step.advice({.measurable_share = 0.2}).measurable == 680_us);
  CHECK(short_step.advice({.measurable_share = 0.2}).set);
  CHECK_FALSE(short_step.advice({.measurable_share = 0.25}).set);  // 850
}

TEST_CASE("tune: the default is kept if it is fastest, without a gain") {
  // T = 250, 350, 450: default 100 + 250 + 350; [1] x 3 850, [2] [1] 800, [3] 750.
  const small::OpenJob job = three_queued(1000, 100, 150, 100);
  const TuneResult result = job.tune();
  CHECK(result.best.iteration == 1700_us);
  CHECK_FALSE(result.best.bucket_cap_mb);
  CHECK(result.recommended.reason == "no other bucketing is faster");
  CHECK(*result.recommended.most_robust == Gain{});
  // A requested cap may even lose: 0.6 (560 - 510), 1.7 (1220 - 1120).
  const Recommendation asked = job.advice({.caps = {2}});
  CHECK_FALSE(asked.set);
  CHECK(asked.reason == "no other bucketing is faster");
  CHECK(*asked.most_robust == gain_us(-100, -100, -50));
}

TEST_CASE("tune: a requested cap is recommended as requested, not rounded") {
  const Recommendation asked = three_queued(1000, 100, 1000, 100).advice({.caps = {3.7, 51.3}});
  CHECK(asked.set);
  CHECK(asked.bucket_cap_mb == 3.7);  // both give one bucket, so the first
}

TEST_CASE("tune: the default is kept if none of the requested caps can be set") {
  small::OpenJob job = six_hidden(3400, 100, 100);
  // From 2.5 on a passed cap overrides it.
  job.options.ddp_to_set().first_bucket_mb = 1;
  const TuneResult result = job.tune({.caps = {1, 5}});
  CHECK_FALSE(result.recommended.set);
  CHECK(result.recommended.reason == "none of the caps asked for can be set with this PyTorch");
  CHECK(result.best.iteration == result.default_setting.iteration);
  CHECK(result.only_caps_asked);
  REQUIRE(result.curve.size() == 2);
  CHECK(result.curve[1].iteration == 10000_us);  // [1] [5]
  CHECK_FALSE(result.curve[1].reachable);
  // The best cut [1] x 6 cannot be set either.
  CHECK(result.best_partition->iteration == 9600_us);
  CHECK_FALSE(result.best_partition->is_best_cap);
}
