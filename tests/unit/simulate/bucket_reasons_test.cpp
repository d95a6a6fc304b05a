// A bucket's times, and why it is exposed. Every branch of the reasons is tested on both sides, on
// executions written by hand.
#include "by_hand.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using paper::differences;

namespace {

/// A bucket's times. Backward ends at 100.
struct Instants {
  Duration ready;
  Duration launch;
  Duration start;
  Duration last_arrival;
  Duration end;
};

std::vector<BucketResult> described(const std::vector<Instants>& buckets) {
  by_hand::Step step;
  std::vector<Bucket> members;
  std::vector<RankPrograms>& ranks = step.planned.schedule.ranks;
  ranks.resize(2);
  ranks[0].rank = 3;
  ranks[1].rank = 7;
  for (const Instants& bucket : buckets) {
    step.planned.ready_operation.push_back(ranks[0].compute.size());
    step.compute(OperationKind::backward, 0_us, bucket.ready);
    step.planned.launch_operation.push_back(ranks[0].host.size());
    by_hand::Step::add(ranks[0].host, step.execution.ranks[0].host,
                       {.purpose = OperationKind::launch}, 0_us, bucket.launch);
    step.wire({bucket.start, bucket.last_arrival, bucket.end});
    step.execution.collectives.back().last = 1;
    members.push_back({.parameters = {members.size()}});
  }
  step.compute(OperationKind::backward, 0_us, 100_us);
  step.compute(OperationKind::optimizer, 500_us, 900_us);
  return describe_buckets(step.planned, step.execution, members);
}

/// Why the last of the buckets is exposed.
std::string reason(const std::vector<Instants>& buckets) {
  return described(buckets).back().exposed_because;
}

/// Why the first bucket is exposed, with nothing before it and another bucket that is ready at
/// `last_ready`.
std::string reason_alone(const Instants& bucket, Duration last_ready = 99_us) {
  return described({bucket, {last_ready, 0_us, 800_us, 800_us, 800_us}}).front().exposed_because;
}

const std::string kWaited = "waited for rank 7";

}  // namespace

TEST_CASE("exposed: a bucket's times, last rank and contents each come from their own place") {
  const std::vector<BucketResult> buckets =
      described({{10_us, 11_us, 12_us, 13_us, 14_us}, {20_us, 25_us, 30_us, 40_us, 60_us}});
  REQUIRE(buckets.size() == 2);
  CHECK(differences(buckets, {{10_us, 11_us, 12_us, 13_us, 14_us, 1000_B, "", 7},
                              {20_us, 25_us, 30_us, 40_us, 60_us, 1001_B, "", 7}}) == "");
  CHECK(buckets[0].bucket.parameters == std::vector<std::size_t>{0});
  CHECK(buckets[1].bucket.parameters == std::vector<std::size_t>{1});
}

TEST_CASE("exposed: a bucket that ends with backward, or takes no time, is not exposed") {
  CHECK(reason_alone({50_us, 50_us, 60_us, 60_us, 100_us}) == "");
  CHECK(reason_alone({50_us, 50_us, 60_us, 60_us, 101_us}) == paper::kLonger);
  CHECK(reason_alone({50_us, 50_us, 120_us, 120_us, 120_us}) == "");
}

TEST_CASE("exposed: a bucket waited for a rank when that rank came after backward") {
  CHECK(reason_alone({50_us, 50_us, 60_us, 101_us, 120_us}) == kWaited);
  CHECK(reason_alone({50_us, 50_us, 60_us, 100_us, 120_us}) == paper::kLonger);
  CHECK(reason_alone({50_us, 50_us, 110_us, 110_us, 120_us}) == paper::kLonger);
  // This reason is preferred to the last gradient and to a late host.
  CHECK(reason_alone({50_us, 105_us, 110_us, 115_us, 120_us}, 50_us) == kWaited);
}

TEST_CASE("exposed: a bucket ready last has nothing left to hide behind") {
  CHECK(reason_alone({90_us, 90_us, 95_us, 95_us, 120_us}, 80_us) == paper::kReadyLast);
  CHECK(reason_alone({90_us, 90_us, 95_us, 95_us, 120_us}, 90_us) == paper::kReadyLast);
  CHECK(reason_alone({90_us, 90_us, 95_us, 95_us, 120_us}, 91_us) == paper::kLonger);
}

TEST_CASE(
    "exposed: a bucket is late when the host launched it after its gradients and after backward") {
  const std::string late = "launched late: the host was behind";
  CHECK(reason_alone({50_us, 100_us, 105_us, 105_us, 120_us}) == late);
  CHECK(reason_alone({50_us, 99_us, 105_us, 105_us, 120_us}) == paper::kLonger);
}

TEST_CASE("exposed: a bucket queues after one that ended after it was both ready and launched") {
  // The bucket before it runs from 30 to 80.
  const Instants front{20_us, 20_us, 30_us, 30_us, 80_us};
  CHECK(reason({front, {70_us, 60_us, 80_us, 80_us, 120_us}}) == paper::kInFront);
  CHECK(reason({front, {79_us, 60_us, 85_us, 85_us, 120_us}}) == paper::kInFront);
  CHECK(reason({front, {80_us, 60_us, 85_us, 85_us, 120_us}}) == paper::kReadyLast);
  CHECK(reason({front, {60_us, 79_us, 80_us, 80_us, 120_us}}) == paper::kInFront);
  CHECK(reason({front, {60_us, 80_us, 85_us, 85_us, 120_us}}) == paper::kReadyLast);
  // A bucket that takes no time holds nothing up.
  CHECK(reason({{20_us, 20_us, 80_us, 80_us, 80_us}, {70_us, 60_us, 85_us, 85_us, 120_us}}) ==
        paper::kReadyLast);
}

TEST_CASE("exposed: of several earlier buckets, the one that ended last held it up") {
  const Instants asked{40_us, 40_us, 90_us, 90_us, 120_us};
  const Instants to_80{20_us, 20_us, 30_us, 30_us, 80_us};
  const Instants to_90{20_us, 20_us, 30_us, 30_us, 90_us};
  CHECK(reason({to_90, to_80, asked}) == "queued behind bucket 0");
  CHECK(reason({to_80, to_90, asked}) == paper::kInFront);
  CHECK(reason({to_90, to_90, asked}) == paper::kInFront);
  CHECK(reason({to_80, to_90, to_80, asked}) == "queued behind bucket 1");
}

TEST_CASE("exposed: simultaneous buckets share the link, unless one queued first") {
  const Instants asked{40_us, 40_us, 70_us, 70_us, 120_us};
  const Instants to_60{20_us, 20_us, 30_us, 30_us, 60_us};
  const Instants to_70{20_us, 20_us, 30_us, 30_us, 70_us};
  const Instants to_71{20_us, 20_us, 30_us, 30_us, 71_us};
  const Instants to_110{20_us, 20_us, 30_us, 30_us, 110_us};
  CHECK(reason({to_71, asked}) == "shares the link with bucket 0");
  CHECK(reason({to_70, asked}) == paper::kInFront);
  CHECK(reason({to_110, to_71, asked}) == "shares the link with bucket 0");
  CHECK(reason({to_71, to_110, asked}) == "shares the link with bucket 1");
  CHECK(reason({to_60, to_110, asked}) == "queued behind bucket 0");
  CHECK(reason({to_110, to_60, asked}) == paper::kInFront);
}

TEST_CASE("exposed: if nothing is computed, a bucket is ready from the start") {
  by_hand::Step step;
  step.planned.ready_operation = {0};
  step.planned.launch_operation = {0};
  by_hand::Step::add(step.planned.schedule.ranks[0].host, step.execution.ranks[0].host, {}, 0_us,
                     5_us);
  step.wire({5_us, 5_us, 15_us});
  const std::vector<BucketResult> buckets =
      describe_buckets(step.planned, step.execution, {Bucket{}});
  CHECK(buckets.at(0).ready == TimePoint());
  CHECK(buckets.at(0).launch == TimePoint(5_us));
}
