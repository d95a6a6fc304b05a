// A recommendation when the PyTorch version is unknown: slower under none, or separate advice for
// each.
#include <doctest/doctest.h>

#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::gain_us;
using small::six_hidden;
using small::three_queued;

namespace {

constexpr NcclVersion kOneNccl{2, 20, 5};
constexpr VersionRange kNeverRebuilt{{1, 0}, {1, 5}, kOneNccl, kOneNccl};
constexpr VersionRange kFirstApart{{1, 6}, {2, 4}, kOneNccl, kOneNccl};
constexpr VersionRange kOneCap{{2, 5}, kNewestTorch, kOneNccl, kOneNccl};

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
  CHECK(result.recommended.gain == gain_us(400, 240, 600));
  REQUIRE(result.by_version.size() == 2);
  CHECK(result.by_version[0].versions == kFirstApart);
  for (const AdviceByVersion& advice : result.by_version) {
    CHECK(advice.set);
    CHECK(advice.bucket_cap_mb == 1);
    CHECK_FALSE(advice.first_bucket_mb);
    CHECK(advice.gain == gain_us(400, 240, 600));
  }
}

TEST_CASE(
    "tune over versions: a cap that gains under the likeliest is recommended if it is nowhere "
    "slower") {
  // Up to 1.5 the first MiB of the definition has its own bucket, which is launched last, so
  // nothing is gained.
  const TuneResult result =
      tune_over(six_hidden(3400, 100, 100), {kNeverRebuilt, kFirstApart, kOneCap});
  CHECK(result.recommended.set);
  REQUIRE(result.by_version.size() == 3);
  CHECK(result.by_version[0].set);
  CHECK(result.by_version[0].gain.value == 0_us);
  CHECK(result.by_version[1].gain.value == 400_us);
  CHECK(result.by_version[2].gain.value == 400_us);
}

TEST_CASE("tune over versions: a known version is not checked against others") {
  const TuneResult result = three_queued(1000, 100, 500, 100).tune();
  CHECK(result.recommended.set);
  CHECK(result.by_version.empty());
}

namespace {

/// Eight gradients of a third of 5 MiB plus a byte; the time of an all-reduce depends on its
/// position.
///
///   default               [1] [7]               18 + 2.5 = 20.5 ms
///   2 MiB                 [2] [2] [2] [2]       18 + 0, but with the first bucket separate
///                         [1] [2] [2] [2] [1]   18 + 3   = 21
///
///   5 MiB                 [3] [3] [2]           18 + 1.5 = 19.5 and
///                         [1] [3] [3] [1]       18 + 0
small::OpenJob by_place() {
  constexpr std::int64_t kThird = 1'747'628;  // whole floats
  std::vector<small::Gradient> gradients;
  for (const double at : {1000, 3000, 4000, 7000, 9000, 13000, 15000, 18000})
    gradients.push_back({kThird, at});
  return {.workload = small::chain(gradients, 0, 18000),
          .model = RecordedModel{
              .durations = {1500_us, 2500_us, 1500_us, Duration(), 3_ms, 3_ms, 3_ms, 3_ms},
              .channels = 0}};
}

constexpr VersionRange kFirstFixed{{1, 6}, {1, 9}, kOneNccl, kOneNccl};

}  // namespace

TEST_CASE(
    "tune over versions: when many jobs are compared, a cap slower somewhere is only withdrawn") {
  small::OpenJob job = by_place();
  CHECK(job.advice().bucket_cap_mb == 2);
  job.options.possible_versions = {kFirstFixed, kOneCap};
  const TuneResult result = job.tune({.advise_each_version = false});
  CHECK_FALSE(result.recommended.set);
  CHECK_FALSE(result.recommended.bucket_cap_mb);
  CHECK(result.recommended.depends_on_version);
  CHECK(result.recommended.python.empty());
  CHECK(result.recommended.gain == Gain{});
  CHECK(result.recommended.expected == 0_us);
  CHECK_FALSE(result.recommended.next_worse);
  REQUIRE(result.recommended.most_robust);
  CHECK(result.recommended.most_robust->value == 2500_us);
  CHECK(result.recommended.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(result.recommended.reason ==
        "which cap gains depends on PyTorch's version, which is unknown (pass --torch)");
  REQUIRE(result.by_version.size() == 2);
  CHECK_FALSE(result.by_version[0].set);
  CHECK_FALSE(result.by_version[0].bucket_cap_mb);
  CHECK(result.by_version[0].gain == Gain{});
  CHECK(result.by_version[1].set);
  CHECK(result.by_version[1].bucket_cap_mb == 2);
  CHECK(result.by_version[1].gain.value == 2500_us);
}

TEST_CASE("tune over versions: a range that can set the first bucket is advised to") {
  small::OpenJob job = three_queued(1000, 100, 500, 100);
  job.options.torch = {1, 6};  // no cap gains
  const VersionRange tunable{{1, 10}, {2, 4}, kOneNccl, kOneNccl};
  const TuneResult result = tune_over(job, {kFirstFixed, tunable});
  CHECK_FALSE(result.recommended.set);
  CHECK(result.recommended.depends_on_version);
  REQUIRE(result.by_version.size() == 2);
  CHECK_FALSE(result.by_version[0].set);
  CHECK(result.by_version[1].set);
  CHECK(result.by_version[1].first_bucket_mb);
  CHECK(result.by_version[1].gain.value == 300_us);
}

TEST_CASE("tune over versions: if the default is kept, the other ranges get their gains") {
  small::OpenJob job = three_queued(1000, 100, 500, 100);
  job.options.torch = {1, 6};  // no cap gains
  CHECK_FALSE(job.advice().set);
  const TuneResult result = tune_over(job, {kFirstApart, kOneCap});
  CHECK_FALSE(result.recommended.set);
  REQUIRE(result.by_version.size() == 2);
  CHECK_FALSE(result.by_version[0].set);
  CHECK(result.by_version[1].set);
}

TEST_CASE("tune over versions: another range's cap is used if it gains under all of them") {
  const TuneResult result = tune_over(by_place(), {kFirstFixed, kOneCap});
  CHECK(result.recommended.set);
  CHECK(result.recommended.bucket_cap_mb == 5);
  CHECK(result.recommended.gain.value == 1_ms);
  CHECK(result.recommended.python == "DistributedDataParallel(model, bucket_cap_mb=5)");
  CHECK(result.recommended.reason.ends_with("; no slower under any PyTorch version that may run"));
  CHECK_FALSE(result.recommended.depends_on_version);
  REQUIRE(result.by_version.size() == 2);
  for (const AdviceByVersion& advice : result.by_version) {
    CHECK(advice.set);
    CHECK(advice.bucket_cap_mb == 5);
  }
  CHECK(result.by_version[0].gain.value == 2500_us);
  CHECK(result.by_version[1].gain.value == 1_ms);
}
