// A recorded step as a timeline, with spans computed by hand.
#include "ddpsim/traces/recorded_timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Workload recorded_timeline() {
  Workload workload = small::chain({{64, 300}, {32, 800}}, 1000, 800, 200);
  workload.recorded_with.world_size = 2;
  workload.recorded_with.exposed = 70_us;
  workload.recorded_with.finalize = 30_us;
  workload.recorded_with.collectives = {
      {.bytes = Bytes(64), .launch = {}, .start = 310_us, .duration = 90_us, .channels = 2},
      {.bytes = Bytes(32), .launch = {}, .start = 810_us, .duration = 60_us, .channels = 2}};
  return workload;
}

bool is(const Span& span, const char* name, Duration start, Duration end) {
  return span.name == name && span.start == small::at(start) && span.end == small::at(end);
}

}  // namespace

TEST_CASE("recorded timeline: compute windows, and all-reduces on backward's clock") {
  const Timeline timeline = recorded_timeline(recorded_timeline());
  REQUIRE(timeline.ranks.size() == 1);
  const std::vector<Span>& spans = timeline.ranks[0].spans;
  REQUIRE(spans.size() == 5);
  CHECK(is(spans[0], "forward", 0_us, 1_ms));
  CHECK(is(spans[1], "backward", 1_ms, 1800_us));
  CHECK(is(spans[2], "all_reduce", 1310_us, 1400_us));
  CHECK(spans[2].bucket == 0);
  CHECK(spans[2].track == Track::communication);
  CHECK(is(spans[3], "all_reduce", 1810_us, 1870_us));
  CHECK(spans[3].bucket == 1);
  CHECK(spans[1].parameters == SpanParameters{"p1", "p0", 2});
  CHECK(spans[2].parameters == SpanParameters{"p1", "p1", 1});
  CHECK(spans[3].parameters == SpanParameters{"p0", "p0", 1});
  CHECK(!spans[0].parameters);
  CHECK(is(spans[4], "optimizer", 1900_us, 2100_us));  // after the tail and the copies out
  const auto says = [&](const char* key, const char* text) {
    return std::ranges::find(timeline.provenance, std::pair<std::string, std::string>(key, text)) !=
           timeline.provenance.end();
  };
  CHECK(says("workload", "chain"));
  CHECK(says("ranks", "2"));
  CHECK(says("bucket_bytes", "64 32"));
}

TEST_CASE(
    "recorded timeline: every rank starts at its own offset, and cast bytes name no buckets") {
  Workload job = recorded_timeline();
  RankRecording rank;
  static_cast<Recorded&>(rank) = job;
  job.ranks = {rank, rank};
  job.ranks[1].rank = 1;
  job.ranks[1].offset = -250_us;
  job.recorded_with.wire = Dtype::float16;
  const Timeline timeline = recorded_timeline(job);
  REQUIRE(timeline.ranks.size() == 2);
  CHECK(timeline.ranks[1].rank == 1);
  CHECK(is(timeline.ranks[1].spans[0], "forward", -250_us, 750_us));
  for (const auto& [key, text] : timeline.provenance) CHECK(key != "bucket_bytes");
}

TEST_CASE("recorded timeline: an all-reduce that fits no run of gradients names none") {
  Workload workload = recorded_timeline();
  workload.recorded_with.collectives[0].bytes = Bytes(60);
  const std::vector<Span> spans = recorded_timeline(workload).ranks[0].spans;
  CHECK(spans[1].parameters);
  CHECK(!spans[2].parameters);
  CHECK(!spans[3].parameters);
}
