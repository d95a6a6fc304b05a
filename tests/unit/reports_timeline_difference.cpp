// A measured timeline laid beside a predicted one.
#include <doctest/doctest.h>

#include "ddpsim/reports/timeline_difference.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Span span(Track track, const char* name, std::optional<std::size_t> bucket, Duration start,
          Duration end) {
  return {track, name, bucket, TimePoint(start), TimePoint(end)};
}

Timeline on_rank(int rank, std::vector<Span> spans) {
  Timeline timeline;
  timeline.ranks.push_back({.rank = rank, .spans = std::move(spans)});
  return timeline;
}

}  // namespace

TEST_CASE(
    "timeline difference: spans are matched by track, name and bucket, pieces of one are joined") {
  const Timeline predicted =
      on_rank(0, {span(Track::compute, "backward", 0, 10_us, 20_us),
                  span(Track::compute, "backward", 1, 21_us, 30_us),
                  span(Track::communication, "all_reduce", 0, 15_us, 25_us),
                  span(Track::communication, "all_reduce", 1, 30_us, 45_us)});
  // The measured backward knows no buckets, so neither does the difference; a bucket more was measured.
  const Timeline measured =
      on_rank(0, {span(Track::compute, "backward", std::nullopt, 11_us, 33_us),
                  span(Track::communication, "all_reduce", 0, 16_us, 27_us),
                  span(Track::communication, "all_reduce", 2, 33_us, 50_us)});
  const auto result = difference(predicted, measured, "m.json");
  REQUIRE(result);
  CHECK(result->predicted.end - result->predicted.start == 35_us);
  CHECK(result->measured.end - result->measured.start == 39_us);
  REQUIRE(result->spans.size() == 4);
  CHECK(result->spans[0].name == "backward");
  CHECK_FALSE(result->spans[0].bucket);
  CHECK(result->spans[0].predicted->end == TimePoint(30_us));
  CHECK(result->spans[0].measured->start == TimePoint(11_us));
  CHECK(result->spans[1].bucket == 0);
  CHECK(result->spans[2].bucket == 1);
  CHECK_FALSE(result->spans[2].measured);
  CHECK(result->spans[3].bucket == 2);
  CHECK_FALSE(result->spans[3].predicted);
}

TEST_CASE("timeline difference: the lowest rank both hold, nothing where they share none") {
  Timeline predicted = on_rank(0, {});
  predicted.ranks.push_back({.rank = 2, .spans = {}});
  CHECK(difference(predicted, on_rank(2, {}), "m.json")->rank == 2);
  CHECK_FALSE(difference(predicted, on_rank(1, {}), "m.json"));
}
