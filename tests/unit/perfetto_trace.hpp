// Perfetto traces read back, by the field numbers of protos/perfetto/trace.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

namespace ddpsim::perfetto_trace {

struct Event {
  std::uint64_t time = 0;
  std::uint64_t track = 0;
  int type = 0;  // 1 begin, 2 end, 3 instant, 4 counter
  std::string name;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> flow_ends;
  std::map<std::string, std::string> arguments;
  double value = 0;  ///< of a counter
};

struct TrackInfo {
  std::string name;
  std::uint64_t parent = 0;
  std::string process;
  int pid = 0;
  std::string description;
  int child_order = 0;
  int place = 0;  ///< among its siblings
  /// Unit of a counter: "2" (numbers), "3" (bytes), or its name.
  std::optional<std::string> counts = std::nullopt;
};

struct Decoded {
  std::size_t packets = 0;
  std::map<std::uint64_t, TrackInfo> tracks;
  std::vector<Event> events;
  bool first_packet_clears_state = false;
  bool first_packet_is_marked = false;

  /// "rank 0/buckets/bucket 0 (1.00 MiB)"
  std::string path(std::uint64_t track) const {
    const TrackInfo& info = tracks.at(track);
    return info.parent == 0 ? info.process : path(info.parent) + '/' + info.name;
  }
};

inline TrackInfo decode_track(protozero::pbf_reader message, std::uint64_t& uuid) {
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
          if (process.tag() == 1) {
            info.pid = process.get_int32();
          } else if (process.tag() == 6) {
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
      case 8: {
        protozero::pbf_reader counter = message.get_message();
        info.counts.emplace();
        while (counter.next()) {
          if (counter.tag() == 3) {
            info.counts = std::to_string(counter.get_enum());
          } else if (counter.tag() == 6) {
            info.counts = counter.get_string();
          } else {
            counter.skip();
          }
        }
        break;
      }
      case 11:
        info.child_order = message.get_enum();
        break;
      case 12:
        info.place = message.get_int32();
        break;
      case 14:
        info.description = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return info;
}

inline void decode_argument(protozero::pbf_reader message, Event& event) {
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

inline void decode_event(protozero::pbf_reader message, Event& event) {
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
      case 44:
        event.value = message.get_double();
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

inline Decoded decode(const std::string& trace) {
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
        case 87:
          decoded.first_packet_is_marked = decoded.packets == 0 && packet.get_bool();
          break;
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
inline void check_nesting(const Decoded& decoded) {
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

inline std::vector<Event> named(const Decoded& decoded, const std::string& path,
                                const std::string& name) {
  std::vector<Event> found;
  for (const Event& event : decoded.events) {
    if (event.name == name && decoded.path(event.track) == path) found.push_back(event);
  }
  return found;
}

}  // namespace ddpsim::perfetto_trace
