// ddpsim.timeline/1: a written file is read back, and errors are refused with their place.
#include <doctest/doctest.h>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/traces/timeline_file.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Timeline two_ranks() {
  Timeline timeline;
  timeline.clock = "measured";
  timeline.provenance = {{"program", "by hand"}};
  timeline.ranks.push_back(
      {.rank = 0,
       .spans = {{Track::compute, "forward", std::nullopt, TimePoint(0_us), TimePoint(10.5_us)},
                 {Track::communication, "all_reduce", 3, TimePoint(12_us), TimePoint(40_us),
                  SpanParameters{"fc.bias", "fc.weight", 2}}}});
  timeline.ranks.push_back(
      {.rank = 1, .spans = {{Track::host, "launch", 0, TimePoint(-1_us), TimePoint(2_us)}}});
  return timeline;
}

std::string timeline_refusal(const std::string& text) {
  try {
    parse_timeline(text, "t.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string with_span(const std::string& span) {
  return R"({"schema": "ddpsim.timeline/1", "ranks": [{"rank": 0, "spans": [)" + span + "]}]}";
}

}  // namespace

TEST_CASE("timeline file: a written file is read back") {
  const std::string text = timeline_json(two_ranks());
  CHECK(timeline_json(parse_timeline(text, "t.json")) == text);
}

TEST_CASE("timeline file: errors are refused with their place") {
  CHECK(timeline_refusal("{}").find("Expected a timeline") != std::string::npos);
  CHECK(timeline_refusal(R"({"schema": "ddpsim.workload/1"})").find("/schema") !=
        std::string::npos);
  CHECK(timeline_refusal(with_span(R"({"track": "gpu", "name": "x", "start_us": 0, "end_us": 1})"))
            .find("/ranks/0/spans/0/track") != std::string::npos);
  CHECK(timeline_refusal(with_span(R"({"track": "host", "name": "x", "start_us": 2, "end_us": 1})"))
            .find("ends before it starts") != std::string::npos);
  CHECK(timeline_refusal(
            with_span(R"({"track": "host", "name": "x", "start_us": 0, "end_us": 2e12})"))
            .find("out of range") != std::string::npos);
  CHECK(timeline_refusal(with_span(R"({"track": "host", "name": "x", "start_us": 0, "end_us": 1,
                          "parameters": {"first": "a", "last": "a", "count": 0}})"))
            .find("/ranks/0/spans/0/parameters/count") != std::string::npos);
  CHECK(timeline_refusal(R"({"schema": "ddpsim.timeline/1", "ranks": [{"rank": 0, "spans": []},
                                                             {"rank": 0, "spans": []}]})")
            .find("appears twice") != std::string::npos);
}
