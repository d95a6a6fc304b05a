// A step measured by ddpsim-real (ddpsim.timeline/1), as a log for calibration.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

constexpr const char* kOverNccl = R"(, "backend": "cuda-nccl", "communication": "NCCL 2.20.5")";

std::string reduced(int bucket, int start, int end) {
  return fmt::format(
      R"({{"track": "communication", "name": "all_reduce", "bucket": {}, "start_us": {}, "end_us": {}}})",
      bucket, start, end);
}

std::string rank_of(int rank, const std::vector<std::string>& spans) {
  return fmt::format(R"({{"rank": {}, "spans": [{}]}})", rank, fmt::join(spans, ", "));
}

std::string step(const std::vector<std::string>& ranks, const std::string& more = kOverNccl,
                 const std::string& sizes = "1048576 4194304") {
  return fmt::format(
      R"({{"schema": "ddpsim.timeline/1", "ranks": [{}], "clock": "measured; zero is somewhere",
           "provenance": {{"ranks": "2", "bucket_bytes": "{}", "hosts": "a a"{}}}}})",
      fmt::join(ranks, ", "), sizes, more);
}

// Rank 1 is 40 µs late to the first bucket, and rank 0 200 µs to the second. The other host's clock
// is 1 s ahead.
const std::vector<std::string> kBoth = {
    rank_of(0, {reduced(0, 1000, 1140), reduced(1, 2200, 2500)}),
    rank_of(1, {reduced(0, 1'001'040, 1'001'140), reduced(1, 1'002'000, 1'002'500)})};

MeasuredLog log_of(const std::string& text) {
  const std::vector<MeasuredLog> logs = parse_measured_logs(text, "f");
  REQUIRE(logs.size() == 1);
  return logs.front();
}

std::string refusal(const std::string& text) {
  return complaint_of([&] { parse_measured_logs(text, "f"); });
}

}  // namespace

TEST_CASE(
    "measured step: the shortest span of all ranks is a bucket's transfer, whatever their clocks") {
  const MeasuredLog log = log_of(step(kBoth));
  CHECK(log.timed_by == TimedBy::joined_ranks);
  CHECK(log.shape() == JobShape{1, 2});
  CHECK(log.nccl == NcclVersion{2, 20, 5});
  CHECK(log.backend.empty());
  REQUIRE(log.points.size() == 2);
  CHECK(log.points[0].size == Bytes(1 << 20));
  CHECK(log.points[0].time_us == 100);
  CHECK(log.points[1].time_us == 300);
  CHECK(mentions(log.recognised, "2 all-reduces on all 2 ranks"));
}

TEST_CASE("measured step: one rank of two gives upper bounds") {
  const MeasuredLog log = log_of(step({kBoth[0]}));
  CHECK(log.timed_by == TimedBy::one_rank);
  REQUIRE(log.points.size() == 2);
  CHECK(log.points[0].time_us == 140);
  CHECK(mentions(log.warnings, "upper bound"));
}

TEST_CASE("measured step: with a hook the wire carries half of a bucket") {
  const std::string hook = std::string(kOverNccl) + R"(, "comm_hook": "fp16")";
  CHECK(log_of(step(kBoth, hook)).points[0].size == Bytes(1 << 19));
}

TEST_CASE("measured step: over gloo it tells nothing about NCCL and calibrates nothing") {
  const MeasuredLog log =
      log_of(step(kBoth, R"(, "backend": "c10d-gloo", "communication": "ProcessGroupGloo")"));
  CHECK(log.backend == "ProcessGroupGloo");
  const ClusterAt at = [](JobShape shape) {
    return load_cluster(
        {.text = "2xv100-nvlink", .nodes = shape.nodes, .gpus_per_node = shape.gpus_per_node});
  };
  CHECK(mentions(complaint_of([&] {
                   fit_calibration({log}, at, {.nccl = NcclVersion{2, 20, 5}});
                 }),
                 "was taken over ProcessGroupGloo, so it tells nothing about NCCL"));
}

TEST_CASE("measured step: simulated or incomplete timelines are refused") {
  std::string simulated = step(kBoth);
  simulated.replace(simulated.find("measured;"), 9, "simulated;");
  CHECK(mentions(refusal(simulated), "is of a simulated step"));
  CHECK(mentions(refusal(step(kBoth, kOverNccl, "1048576")), "a span is of bucket 1"));
  CHECK(mentions(refusal(step(kBoth, kOverNccl, "1048576 4MiB")), "4MiB is not a number of bytes"));
  CHECK(mentions(refusal(step({rank_of(0, {})})), "it contains no all-reduce of a bucket"));
  std::string sizeless = step(kBoth);
  sizeless.replace(sizeless.find("bucket_bytes"), 12, "bucketbytess");
  CHECK(mentions(refusal(sizeless), "bucket_bytes is missing"));
}
