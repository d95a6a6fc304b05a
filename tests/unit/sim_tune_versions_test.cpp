// A recommendation where nothing says which PyTorch runs: it holds for all, or each is told its own.
#include <doctest/doctest.h>

#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::gain_us;
using small::six_hidden;
using small::three_queued;

namespace {

constexpr NcclVersion kNccl{2, 20, 5};
constexpr VersionRange kNeverRebuilt{{1, 0}, {1, 5}, kNccl, kNccl};
constexpr VersionRange kFirstApart{{1, 6}, {2, 4}, kNccl, kNccl};
constexpr VersionRange kOneCap{{2, 5}, kNewestTorch, kNccl, kNccl};

TuneResult tune_over(small::OpenJob job, std::vector<VersionRange> ranges) {
  job.options.possible_versions = std::move(ranges);
  return job.tune();
}

}  // namespace

TEST_CASE(
    "tune over versions: a cap that gains under every one is recommended, with the gain of each") {
  const TuneResult result = tune_over(six_hidden(3400, 100, 100), {kFirstApart, kOneCap});
  CHECK(result.recommended.set);
  CHECK(result.recommended.bucket_cap_mb == 1);
  CHECK(result.recommended.gain == gain_us(400, 240, 680));
  REQUIRE(result.by_version.size() == 2);
  CHECK(result.by_version[0].versions == kFirstApart);
  for (const AdviceByVersion& advice : result.by_version) {
    CHECK(advice.set);
    CHECK(advice.bucket_cap_mb == 1);
    CHECK_FALSE(advice.first_bucket_mb);
    CHECK(advice.gain == gain_us(400, 240, 680));
  }
}

TEST_CASE(
    "tune over versions: buckets of definition order are another default, which the cap must "
    "beat") {
  // Up to 1.5 the first MiB of the definition has a bucket of its own, which is launched last: nothing to gain.
  const TuneResult result =
      tune_over(six_hidden(3400, 100, 100), {kNeverRebuilt, kFirstApart, kOneCap});
  CHECK_FALSE(result.recommended.set);
  REQUIRE(result.by_version.size() == 3);
  CHECK_FALSE(result.by_version[0].set);
  CHECK(result.by_version[1].set);
  CHECK(result.by_version[2].set);
}

TEST_CASE("tune over versions: where a version is known nothing is held against others") {
  const TuneResult result = three_queued(1000, 100, 500, 100).tune();
  CHECK(result.recommended.set);
  CHECK(result.by_version.empty());
}

TEST_CASE(
    "tune over versions: a cap that holds for the first bucket in some versions only is "
    "withdrawn") {
  // All in one bucket gains a - 2 gap = 300 where the cap that is passed holds for the first bucket, too.
  const small::OpenJob job = three_queued(1000, 100, 500, 100);
  CHECK(job.advice().set);
  const TuneResult result = tune_over(job, {kFirstApart, kOneCap});
  CHECK_FALSE(result.recommended.set);
  CHECK_FALSE(result.recommended.bucket_cap_mb);
  CHECK(result.recommended.depends_on_version);
  CHECK(result.recommended.python.empty());
  CHECK(result.recommended.gain == Gain{});
  REQUIRE(result.recommended.most_robust);
  CHECK(result.recommended.most_robust->value == 300_us);
  CHECK(result.recommended.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(
      result.recommended.reason ==
      "which cap gains depends on PyTorch's version, which neither the workload nor --torch says");
  REQUIRE(result.by_version.size() == 2);
  // A first bucket of its own would do, but 1.6 cannot set it.
  CHECK_FALSE(result.by_version[0].set);
  CHECK_FALSE(result.by_version[0].bucket_cap_mb);
  CHECK(result.by_version[0].gain == Gain{});
  CHECK(result.by_version[1].set);
  CHECK(result.by_version[1].bucket_cap_mb == job.advice().bucket_cap_mb);
  CHECK(result.by_version[1].gain.value == 300_us);
}

TEST_CASE("tune over versions: a range that can set the first bucket is told so") {
  const VersionRange tunable{{1, 10}, {2, 4}, kNccl, kNccl};
  const TuneResult result = tune_over(three_queued(1000, 100, 500, 100), {tunable, kOneCap});
  CHECK_FALSE(result.recommended.set);
  REQUIRE(result.by_version.size() == 2);
  CHECK(result.by_version[0].set);
  CHECK(result.by_version[0].first_bucket_mb);
  CHECK(result.by_version[0].gain.value == 300_us);
}

TEST_CASE(
    "tune over versions: who compares many jobs is told only that the cap does not hold for all") {
  small::OpenJob job = three_queued(1000, 100, 500, 100);
  job.options.possible_versions = {kFirstApart, kOneCap};
  const TuneResult result = job.tune({.advise_each_version = false});
  CHECK_FALSE(result.recommended.set);
  CHECK(result.recommended.depends_on_version);
  CHECK_FALSE(result.by_version[0].set);
  job.options.ddp.torch = {1, 6};  // no cap gains: nothing to hold against others
  CHECK(job.tune({.advise_each_version = false}).by_version.empty());
}

TEST_CASE("tune over versions: where the default is kept, others are told what they would gain") {
  small::OpenJob job = three_queued(1000, 100, 500, 100);
  job.options.ddp.torch = {1, 6};  // no cap gains
  CHECK_FALSE(job.advice().set);
  const TuneResult result = tune_over(job, {kFirstApart, kOneCap});
  CHECK_FALSE(result.recommended.set);
  REQUIRE(result.by_version.size() == 2);
  CHECK_FALSE(result.by_version[0].set);
  CHECK(result.by_version[1].set);
}

TEST_CASE("tune over versions: another range's cap is taken where it gains under all of them") {
  // Four gradients early, two late. All four together, which 5 gives where it holds for the first bucket,
  // too, gains most; 2 gains less, and with a first bucket apart as well.
  const small::OpenJob job{.workload = small::mib_layers({100, 200, 300, 400, 2000, 4000}, 100),
                           .model = small::alpha_beta(400, 300)};
  const Recommendation alone = job.advice();
  CHECK(alone.bucket_cap_mb == 5);
  CHECK(alone.gain.value == 1200_us);
  const TuneResult result = tune_over(job, {kFirstApart, kOneCap});
  CHECK(result.recommended.set);
  CHECK(result.recommended.bucket_cap_mb == 2);
  CHECK(result.recommended.gain.value == 900_us);
  CHECK(result.recommended.python == "DistributedDataParallel(model, bucket_cap_mb=2)");
  CHECK(result.recommended.reason.ends_with("; gains whichever PyTorch runs"));
  CHECK_FALSE(result.recommended.depends_on_version);
  REQUIRE(result.by_version.size() == 2);
  for (const AdviceByVersion& advice : result.by_version) {
    CHECK(advice.set);
    CHECK(advice.bucket_cap_mb == 2);
    CHECK(advice.gain.low > Duration());
  }
}
