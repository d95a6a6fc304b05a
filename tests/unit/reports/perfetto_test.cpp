#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "perfetto_trace.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::perfetto_trace;

namespace {

Decoded decoded_sample() {
  const SimulationResult result = sample::result();
  return decode(perfetto(result.timeline, result.step.buckets));
}

}  // namespace

TEST_CASE("perfetto: a process per rank, a track per stream and per bucket") {
  const Decoded decoded = decoded_sample();
  std::set<std::string> paths;
  for (const auto& [uuid, info] : decoded.tracks) paths.insert(decoded.path(uuid));
  CHECK(paths == std::set<std::string>{"rank 0", "rank 0/host", "rank 0/compute",
                                       "rank 0/communication", "rank 0/buckets",
                                       "rank 0/buckets/bucket 0 (1.00 MiB)",
                                       "rank 0/buckets/bucket 1 (2.00 MiB)"});
  CHECK(decoded.packets == decoded.tracks.size() + decoded.events.size());
  CHECK(decoded.first_packet_clears_state);
  CHECK(decoded.first_packet_is_marked);
  check_nesting(decoded);
}

TEST_CASE("perfetto: a bucket waits for its launch, queues, waits for ranks, transfers") {
  const Decoded decoded = decoded_sample();
  const std::string track = "rank 0/buckets/bucket 0 (1.00 MiB)";
  const auto start_of = [&](const char* name) {
    const auto found = named(decoded, track, name);
    REQUIRE(found.size() == 1);
    return found[0].time;
  };
  CHECK(start_of("ready, waits for launch") == 40'000'000);
  CHECK(start_of("queued") == 41'000'000);
  CHECK(start_of("waits for ranks") == 42'000'000);
  CHECK(start_of("all_reduce") == 43'000'000);
  const auto arguments = named(decoded, track, "bucket 0")[0].arguments;
  CHECK(arguments.at("bytes") == "1048576");
  CHECK(arguments.at("algorithm") == "ring");
  CHECK(arguments.at("protocol") == "Simple");
  CHECK(arguments.at("channels") == "12");
  CHECK(arguments.at("closed_by") == "limit");
}

TEST_CASE("perfetto: a host that runs ahead launches before the gradients are written") {
  const Decoded decoded = decoded_sample();
  const std::string track = "rank 0/buckets/bucket 1 (2.00 MiB)";
  CHECK(named(decoded, track, "launched, waits for gradients").size() == 1);
  CHECK(named(decoded, track, "ready, waits for launch").empty());
}

TEST_CASE("perfetto: arrows lead from ready through launch and start to done") {
  const Decoded decoded = decoded_sample();
  std::vector<std::string> stations;
  for (const Event& event : decoded.events) {
    const bool passes = std::count(event.flows.begin(), event.flows.end(), 1) == 1;
    const bool ends = std::count(event.flow_ends.begin(), event.flow_ends.end(), 1) == 1;
    if (passes || ends) {
      stations.push_back(decoded.path(event.track) + ": " + event.name + (ends ? " |" : ""));
    }
  }
  CHECK(stations == std::vector<std::string>{"rank 0/host: launch",
                                             "rank 0/compute: bucket 0 ready",
                                             "rank 0/communication: all_reduce",
                                             "rank 0/communication: bucket 0 done |"});
}

TEST_CASE("perfetto: a launch the timeline does not show gets a mark") {
  const Decoded decoded = decoded_sample();
  const auto marks = named(decoded, "rank 0/host", "bucket 1 launch");
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].type == 3);
  CHECK(marks[0].time == 85'000'000);
}

TEST_CASE("perfetto: slices that overlap without nesting go to a second track of the same name") {
  Timeline timeline;
  using sample::at;
  timeline.ranks.push_back(
      {.rank = 3,
       .spans = {{Track::communication, "a", std::nullopt, at(0_us), at(10_us)},
                 {Track::communication, "b", std::nullopt, at(5_us), at(15_us)},
                 {Track::communication, "inside a", std::nullopt, at(2_us), at(4_us)},
                 {Track::communication, "after both", std::nullopt, at(15_us), at(15_us)}}});
  const Decoded decoded = decode(perfetto(timeline, {}));
  check_nesting(decoded);
  std::size_t lanes = 0;
  for (const auto& [uuid, info] : decoded.tracks) {
    if (decoded.path(uuid) == "rank 3/communication") ++lanes;
  }
  CHECK(lanes == 2);
}

TEST_CASE("perfetto: a timeline that begins before zero is moved, not wrapped") {
  Timeline timeline;
  timeline.ranks.push_back({.rank = 0,
                            .spans = {{Track::host, "early", std::nullopt,
                                       sample::at(-Duration::microseconds(7)), sample::at(1_us)}}});
  const Decoded decoded = decode(perfetto(timeline, {}));
  REQUIRE(decoded.events.size() == 2);
  CHECK(decoded.events[0].time == 0);
  CHECK(decoded.events[1].time == 8000);
}

TEST_CASE(
    "perfetto: buckets without a timeline are still drawn; nothing at all is an empty trace") {
  const Decoded decoded = decode(perfetto({}, sample::step().buckets));
  CHECK(named(decoded, "rank 0/communication", "bucket 1 start").size() == 1);
  check_nesting(decoded);
  CHECK(perfetto({}, {}).empty());
}

TEST_CASE("perfetto: the same values give the same bytes") {
  const SimulationResult result = sample::result();
  CHECK(perfetto(result.timeline, result.step.buckets) ==
        perfetto(result.timeline, result.step.buckets));
}
