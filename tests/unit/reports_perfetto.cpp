#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

struct Event {
  std::uint64_t time = 0;
  std::uint64_t track = 0;
  int type = 0;  // 1 begin, 2 end, 3 instant
  std::string name;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> flow_ends;
  std::map<std::string, std::string> arguments;
};

struct TrackInfo {
  std::string name;
  std::uint64_t parent = 0;
  std::string process;
};

struct Decoded {
  std::size_t packets = 0;
  std::map<std::uint64_t, TrackInfo> tracks;
  std::vector<Event> events;
  bool first_packet_clears_state = false;

  /// "rank 0/buckets/bucket 0 (1.00 MiB)"
  std::string path(std::uint64_t track) const {
    const TrackInfo& info = tracks.at(track);
    return info.parent == 0 ? info.process : path(info.parent) + '/' + info.name;
  }
};

TrackInfo decode_track(protozero::pbf_reader message, std::uint64_t& uuid) {
  TrackInfo info;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        uuid = message.get_uint64();
        break;
      case 2:
        info.name = message.get_string();
        break;
      case 3: {
        protozero::pbf_reader process = message.get_message();
        while (process.next()) {
          if (process.tag() == 6) {
            info.process = process.get_string();
          } else {
            process.skip();
          }
        }
        break;
      }
      case 5:
        info.parent = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return info;
}

void decode_argument(protozero::pbf_reader message, Event& event) {
  std::string name;
  std::string value;
  while (message.next()) {
    switch (message.tag()) {
      case 4:
        value = std::to_string(message.get_int64());
        break;
      case 6:
        value = message.get_string();
        break;
      case 10:
        name = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  event.arguments[name] = value;
}

void decode_event(protozero::pbf_reader message, Event& event) {
  while (message.next()) {
    switch (message.tag()) {
      case 4:
        decode_argument(message.get_message(), event);
        break;
      case 9:
        event.type = message.get_enum();
        break;
      case 11:
        event.track = message.get_uint64();
        break;
      case 23:
        event.name = message.get_string();
        break;
      case 47:
        event.flows.push_back(message.get_fixed64());
        break;
      case 48:
        event.flow_ends.push_back(message.get_fixed64());
        break;
      default:
        message.skip();
    }
  }
}

Decoded decode(const std::string& trace) {
  Decoded decoded;
  protozero::pbf_reader reader(trace);
  while (reader.next(1)) {
    protozero::pbf_reader packet = reader.get_message();
    Event event;
    bool is_event = false;
    std::uint32_t sequence = 0;
    while (packet.next()) {
      switch (packet.tag()) {
        case 8:
          event.time = packet.get_uint64();
          break;
        case 10:
          sequence = packet.get_uint32();
          break;
        case 11:
          decode_event(packet.get_message(), event);
          is_event = true;
          break;
        case 13:
          decoded.first_packet_clears_state = decoded.packets == 0 && packet.get_uint32() == 1;
          break;
        case 60: {
          std::uint64_t uuid = 0;
          const TrackInfo info = decode_track(packet.get_message(), uuid);
          CHECK(decoded.tracks.emplace(uuid, info).second);
          break;
        }
        default:
          packet.skip();
      }
    }
    CHECK(sequence == 1);
    ++decoded.packets;
    if (is_event) decoded.events.push_back(event);
  }
  return decoded;
}

/// Every begin has its end on the same track, ends close the innermost slice, time never runs back.
void check_nesting(const Decoded& decoded) {
  std::map<std::uint64_t, int> open;
  std::uint64_t last = 0;
  for (const Event& event : decoded.events) {
    CHECK(event.time >= last);
    last = event.time;
    CHECK(decoded.tracks.count(event.track) == 1);
    if (event.type == 1) ++open[event.track];
    if (event.type == 2) CHECK(--open[event.track] >= 0);
  }
  for (const auto& [track, count] : open) CHECK(count == 0);
}

std::vector<Event> named(const Decoded& decoded, const std::string& path, const std::string& name) {
  std::vector<Event> found;
  for (const Event& event : decoded.events) {
    if (event.name == name && decoded.path(event.track) == path) found.push_back(event);
  }
  return found;
}

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
