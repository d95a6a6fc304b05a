#include "perfetto_writer.hpp"

#include <algorithm>
#include <limits>
#include <protozero/pbf_writer.hpp>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

namespace field {  // protos/perfetto/trace/**.proto
constexpr protozero::pbf_tag_type kTracePacket = 1;
constexpr protozero::pbf_tag_type kTimestamp = 8;
constexpr protozero::pbf_tag_type kSequenceId = 10;
constexpr protozero::pbf_tag_type kTrackEvent = 11;
constexpr protozero::pbf_tag_type kSequenceFlags = 13;
constexpr protozero::pbf_tag_type kTrackDescriptor = 60;
constexpr protozero::pbf_tag_type kFirstPacketOnSequence = 87;
namespace descriptor {
constexpr protozero::pbf_tag_type kUuid = 1;
constexpr protozero::pbf_tag_type kName = 2;
constexpr protozero::pbf_tag_type kProcess = 3;
constexpr protozero::pbf_tag_type kParent = 5;
constexpr protozero::pbf_tag_type kCounter = 8;
constexpr protozero::pbf_tag_type kChildOrdering = 11;
constexpr protozero::pbf_tag_type kSiblingOrder = 12;
constexpr protozero::pbf_tag_type kDescription = 14;
}  // namespace descriptor
namespace process {
constexpr protozero::pbf_tag_type kPid = 1;
constexpr protozero::pbf_tag_type kName = 6;
}  // namespace process
namespace counter {
constexpr protozero::pbf_tag_type kUnit = 3;
constexpr protozero::pbf_tag_type kUnitName = 6;
}  // namespace counter
namespace event {
constexpr protozero::pbf_tag_type kAnnotation = 4;
constexpr protozero::pbf_tag_type kType = 9;
constexpr protozero::pbf_tag_type kTrack = 11;
constexpr protozero::pbf_tag_type kName = 23;
constexpr protozero::pbf_tag_type kCounterValue = 44;
constexpr protozero::pbf_tag_type kFlow = 47;
constexpr protozero::pbf_tag_type kFlowEnd = 48;
}  // namespace event
namespace annotation {
constexpr protozero::pbf_tag_type kInteger = 4;
constexpr protozero::pbf_tag_type kString = 6;
constexpr protozero::pbf_tag_type kName = 10;
}  // namespace annotation
}  // namespace field

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kIncrementalStateCleared = 1;
constexpr std::int32_t kExplicitOrder = 3;

/// Spreads slices over few lanes (first fit), so that the slices of each lane nest. Each lane is
/// sorted by start, longest first.
std::vector<std::vector<Drawn>> nested_lanes(std::vector<Drawn> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Drawn& a, const Drawn& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  struct Lane {
    std::vector<Drawn> slices;
    std::vector<std::int64_t> open;  // ends of enclosing slices
  };
  std::vector<Lane> lanes(1);
  for (Drawn& slice : slices) {
    const auto fits = [&slice](Lane& lane) {
      while (!lane.open.empty() && lane.open.back() <= slice.start) lane.open.pop_back();
      return slice.mark || lane.open.empty() || lane.open.back() >= slice.end;
    };
    auto lane = std::find_if(lanes.begin(), lanes.end(), fits);
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), Lane{});
    if (!slice.mark) lane->open.push_back(slice.end);
    lane->slices.push_back(std::move(slice));
  }
  std::vector<std::vector<Drawn>> result;
  for (Lane& lane : lanes) result.push_back(std::move(lane.slices));
  return result;
}

void add_arguments(protozero::pbf_writer& event, const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    protozero::pbf_writer annotation(event, field::event::kAnnotation);
    if (argument.number) {
      annotation.add_int64(field::annotation::kInteger, *argument.number);
    } else {
      annotation.add_string(field::annotation::kString, printable(argument.text));
    }
    annotation.add_string(field::annotation::kName, printable(argument.name));
  }
}

}  // namespace

template <class Fill>
void TraceWriter::add_descriptor(const Fill& fill) {
  std::string packet;
  {
    protozero::pbf_writer writer(packet);
    writer.add_uint32(field::kSequenceId, kSequence);
    if (trace_.empty()) {
      writer.add_uint32(field::kSequenceFlags, kIncrementalStateCleared);
      writer.add_bool(field::kFirstPacketOnSequence, true);
    }
    protozero::pbf_writer descriptor(writer, field::kTrackDescriptor);
    fill(descriptor);
  }
  add_packet(packet);
}

std::uint64_t TraceWriter::add_process(int pid, const std::string& name,
                                       const std::string& description) {
  const std::uint64_t uuid = ++last_uuid_;
  add_descriptor([&](protozero::pbf_writer& descriptor) {
    descriptor.add_uint64(field::descriptor::kUuid, uuid);
    {
      protozero::pbf_writer process(descriptor, field::descriptor::kProcess);
      process.add_int32(field::process::kPid, pid);
      process.add_string(field::process::kName, printable(name));
    }
    descriptor.add_enum(field::descriptor::kChildOrdering, kExplicitOrder);
    if (!description.empty()) {
      descriptor.add_string(field::descriptor::kDescription, printable_lines(description));
    }
  });
  return uuid;
}

template <class Fill>
std::uint64_t TraceWriter::add_child(std::uint64_t parent, const std::string& name,
                                     const Fill& fill) {
  const std::uint64_t uuid = ++last_uuid_;
  add_descriptor([&](protozero::pbf_writer& descriptor) {
    descriptor.add_uint64(field::descriptor::kUuid, uuid);
    descriptor.add_string(field::descriptor::kName, printable(name));
    descriptor.add_uint64(field::descriptor::kParent, parent);
    fill(descriptor);
    descriptor.add_int32(field::descriptor::kSiblingOrder, static_cast<std::int32_t>(uuid));
  });
  return uuid;
}

std::uint64_t TraceWriter::add_track(std::uint64_t parent, const std::string& name) {
  return add_child(parent, name, [](protozero::pbf_writer& descriptor) {
    descriptor.add_enum(field::descriptor::kChildOrdering, kExplicitOrder);
  });
}

void TraceWriter::add_counter(std::uint64_t parent, const std::string& name,
                              const CounterUnit& unit, const std::vector<CounterValue>& values) {
  const std::uint64_t track = add_child(parent, name, [&](protozero::pbf_writer& descriptor) {
    protozero::pbf_writer counter(descriptor, field::descriptor::kCounter);
    if (unit.known != CounterUnit::Known::none)
      counter.add_enum(field::counter::kUnit, static_cast<std::int32_t>(unit.known));
    if (!unit.name.empty()) counter.add_string(field::counter::kUnitName, unit.name);
  });
  for (const CounterValue& one : values)
    add_event(track, EventType::counter, one.time, nullptr, one.value);
}

void TraceWriter::add_lanes(std::uint64_t parent, const std::string& name,
                            std::vector<Drawn> drawn) {
  for (const auto& lane : nested_lanes(std::move(drawn))) add_lane(add_track(parent, name), lane);
}

std::string TraceWriter::finish() && {
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  for (const Event& event : events_) add_packet(event.packet);
  return std::move(trace_);
}

void TraceWriter::add_packet(const std::string& packet) {
  protozero::pbf_writer(trace_).add_message(field::kTracePacket, packet);
}

/// Writes the slices of one lane. Begins and ends are ordered so that each end closes the innermost
/// slice.
void TraceWriter::add_lane(std::uint64_t track, const std::vector<Drawn>& drawn) {
  std::vector<std::int64_t> open;
  const auto close_until = [&](std::int64_t time) {
    for (; !open.empty() && open.back() <= time; open.pop_back()) {
      add_event(track, EventType::end, open.back(), nullptr);
    }
  };
  for (const Drawn& slice : drawn) {
    close_until(slice.start);
    add_event(track, slice.mark ? EventType::instant : EventType::begin, slice.start, &slice);
    if (!slice.mark) open.push_back(slice.end);
  }
  close_until(std::numeric_limits<std::int64_t>::max());
}

void TraceWriter::add_event(std::uint64_t track, EventType type, std::int64_t time,
                            const Drawn* drawn, std::optional<double> counted) {
  std::string packet;
  {
    protozero::pbf_writer writer(packet);
    writer.add_uint64(field::kTimestamp, static_cast<std::uint64_t>(time - origin_));
    writer.add_uint32(field::kSequenceId, kSequence);
    protozero::pbf_writer event(writer, field::kTrackEvent);
    if (drawn != nullptr) add_arguments(event, drawn->arguments);
    event.add_enum(field::event::kType, static_cast<std::int32_t>(type));
    event.add_uint64(field::event::kTrack, track);
    if (drawn != nullptr) {
      event.add_string(field::event::kName, printable(drawn->name));
      if (drawn->flow != 0) {
        event.add_fixed64(drawn->flow_ends ? field::event::kFlowEnd : field::event::kFlow,
                          drawn->flow);
      }
    }
    if (counted) event.add_double(field::event::kCounterValue, *counted);
  }
  events_.push_back({time, std::move(packet)});
}

}  // namespace ddpsim
