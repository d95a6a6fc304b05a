// A measured timeline compared with a predicted one.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports_sample.hpp"
#include "timeline_difference_report.hpp"

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
    "timeline difference: spans with the same track, name and bucket are joined and matched") {
  const Timeline predicted =
      on_rank(0, {span(Track::compute, "backward", 0, 10_us, 20_us),
                  span(Track::compute, "backward", 1, 21_us, 30_us),
                  span(Track::communication, "all_reduce", 0, 15_us, 25_us),
                  span(Track::communication, "all_reduce", 1, 30_us, 45_us)});
  // The measured backward has no buckets, so the difference has none either. One more bucket was
  // measured.
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

TEST_CASE(
    "timeline difference: the lowest common rank is compared, and without one there is none") {
  Timeline predicted = on_rank(0, {});
  predicted.ranks.push_back({.rank = 2, .spans = {}});
  CHECK(difference(predicted, on_rank(2, {}), "m.json")->rank == 2);
  CHECK_FALSE(difference(predicted, on_rank(1, {}), "m.json"));
}

namespace {

/// A step that is predicted to take 40 ms and was measured at 50. Arguments are in ms.
TimelineDifference sample_difference() {
  const auto extent = [](double start, double end) {
    return Extent{TimePoint(Duration::milliseconds(start)), TimePoint(Duration::milliseconds(end))};
  };
  return {.source = "m.json",
          .rank = 3,
          .predicted = extent(1, 41),
          .measured = extent(2, 52),
          .spans = {{Track::compute, "backward", std::nullopt, extent(10, 30), extent(11, 28)},
                    {Track::communication, "all_reduce", 4, extent(15.5, 25), extent(13, 27)},
                    {Track::host, "launch", 5, extent(6, 7), std::nullopt},
                    {Track::host, "launch", 6, extent(7, 8), std::nullopt},
                    {Track::compute, "optimizer", std::nullopt, std::nullopt, extent(40, 45)}}};
}

std::string page(const TimelineDifference& difference) {
  return difference_text(difference, {.width = 100});
}

}  // namespace

TEST_CASE(
    "timeline difference page: each start and end predicted, measured, and their difference") {
  CHECK(page(sample_difference()) ==
        R"(Compared with m.json: rank 3 took 50.00 ms, predicted 40.00 ms (-20.0 %).
Each span in ms: predicted, measured, and predicted minus measured:
  span        bucket  start  measured  difference    end  measured  difference
  backward            10.00     11.00      -1.000  30.00     28.00      +2.000
  all_reduce       4  15.50     13.00      +2.500  25.00     27.00      -2.000
Only predicted: launch 5, launch 6.
Only measured: optimizer.
)");
}

TEST_CASE(
    "timeline difference page: no line for missing spans if there are none, no percentage of "
    "zero") {
  TimelineDifference one = sample_difference();
  one.spans.resize(1);
  one.spans[0].measured = one.spans[0].predicted;
  one.measured.end = one.measured.start;
  one.predicted.end = one.predicted.start + 900_us;
  CHECK(page(one) == R"(Compared with m.json: rank 3 took 0 µs, predicted 900.0 µs (+0.0 %).
Each span in µs: predicted, measured, and predicted minus measured:
  span      bucket  start  measured  difference    end  measured  difference
  backward          10000     10000          +0  30000     30000          +0
)");
}

TEST_CASE("timeline difference page: it is a part of the text of the step") {
  SimulateReport report = sample::simulated({});
  report.measured = sample_difference();
  report.context.trust.warnings.add("careful");
  const std::string text = result_text(report, {});
  CHECK(text.find("\n\nCompared with m.json: rank 3") != std::string::npos);
  CHECK(text.ends_with("Only measured: optimizer.\n"));
}

TEST_CASE("timeline difference document: under measured, an absent side is null") {
  SimulateReport report = sample::simulated({});
  report.measured = sample_difference();
  report.measured->spans.erase(report.measured->spans.begin() + 2);
  CHECK(nlohmann::json::parse(result_json(report))["measured"] == nlohmann::json::parse(R"json({
    "source": "m.json", "rank": 3, "predicted_us": 40000, "measured_us": 50000,
    "spans": [
      {"track": "compute", "name": "backward", "bucket": null, "predicted_start_us": 10000,
       "measured_start_us": 11000, "predicted_end_us": 30000, "measured_end_us": 28000},
      {"track": "communication", "name": "all_reduce", "bucket": 4, "predicted_start_us": 15500,
       "measured_start_us": 13000, "predicted_end_us": 25000, "measured_end_us": 27000},
      {"track": "host", "name": "launch", "bucket": 6, "predicted_start_us": 7000, "measured_start_us": null,
       "predicted_end_us": 8000, "measured_end_us": null},
      {"track": "compute", "name": "optimizer", "bucket": null, "predicted_start_us": null,
       "measured_start_us": 40000, "predicted_end_us": null, "measured_end_us": 45000}]})json"));
}

TEST_CASE(
    "timeline difference: one span of several pieces lasts from the first start to the last end") {
  // The pieces are out of order on both sides. Spans with another track or name stay separate.
  const Timeline predicted = on_rank(
      0,
      {span(Track::compute, "copy", 0, 20_us, 25_us), span(Track::compute, "copy", 0, 10_us, 12_us),
       span(Track::host, "copy", 0, 1_us, 2_us), span(Track::compute, "other", 0, 3_us, 4_us)});
  const Timeline measured = on_rank(0, {span(Track::compute, "copy", 0, 11_us, 30_us),
                                        span(Track::compute, "copy", 0, 13_us, 14_us)});
  const auto result = difference(predicted, measured, "m.json");
  REQUIRE(result);
  CHECK(result->source == "m.json");
  REQUIRE(result->spans.size() == 3);
  CHECK(result->spans[0].track == Track::compute);
  CHECK(result->spans[0].bucket == 0);
  CHECK(result->spans[0].predicted->start == TimePoint(10_us));
  CHECK(result->spans[0].predicted->end == TimePoint(25_us));
  CHECK(result->spans[0].measured->start == TimePoint(11_us));
  CHECK(result->spans[0].measured->end == TimePoint(30_us));
  CHECK(result->spans[1].track == Track::host);
  CHECK_FALSE(result->spans[1].measured);
  CHECK(result->spans[2].name == "other");
  CHECK(result->predicted.start == TimePoint(1_us));
  CHECK(result->predicted.end == TimePoint(25_us));
  CHECK(result->measured.start == TimePoint(11_us));
}

TEST_CASE("timeline difference: of several common ranks the lowest is compared, in any order") {
  Timeline predicted = on_rank(5, {});
  predicted.ranks.push_back({.rank = 2, .spans = {}});
  predicted.ranks.push_back({.rank = 3, .spans = {}});
  Timeline measured = on_rank(5, {});
  measured.ranks.push_back({.rank = 2, .spans = {}});
  CHECK(difference(predicted, measured, "")->rank == 2);
}

TEST_CASE(
    "timeline difference: buckets are separate only if both sides separate them on that track") {
  const Timeline predicted = on_rank(0, {span(Track::compute, "copy", std::nullopt, 1_us, 2_us),
                                         span(Track::host, "copy", 1, 3_us, 4_us)});
  const Timeline measured = on_rank(
      0, {span(Track::compute, "copy", 7, 1_us, 2_us), span(Track::host, "copy", 1, 3_us, 5_us)});
  const auto result = difference(predicted, measured, "");
  REQUIRE(result->spans.size() == 2);
  CHECK_FALSE(result->spans[0].bucket);
  CHECK(result->spans[0].measured);
  CHECK(result->spans[1].bucket == 1);
  CHECK(result->spans[1].measured->end == TimePoint(5_us));
}
