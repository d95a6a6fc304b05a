// Encodes a Perfetto trace packet by packet: processes, tracks, slices, marks, arrows and counters.
// Ids are assigned in order, so the same calls give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddpsim {

struct Argument {
  std::string name;
  std::string text;
  std::optional<std::int64_t> number;  ///< replaces the text if set
};

/// A slice from `start` to `end`, or a mark if `mark` is set and both are equal.
struct Drawn {
  std::string name;
  std::int64_t start = 0;  ///< nanoseconds
  std::int64_t end = 0;
  bool mark = false;
  std::uint64_t flow = 0;  ///< id of its arrow; 0: none
  bool flow_ends = false;
  std::vector<Argument> arguments = {};
};

/// The unit of a counter. Perfetto knows bytes and plain counts; other units have a name.
struct CounterUnit {
  enum class Known : std::int32_t { none = 0, count = 2, bytes = 3 };
  Known known = Known::none;
  std::string name = {};
};

struct CounterValue {
  std::int64_t time = 0;  ///< nanoseconds
  double value = 0;       ///< until the next value
};

class TraceWriter {
 public:
  /// `origin` (nanoseconds) becomes time zero, because Perfetto's clock is unsigned.
  explicit TraceWriter(std::int64_t origin) : origin_(origin) {}

  /// `pid` must not be 0, which is Perfetto's idle process.
  std::uint64_t add_process(int pid, const std::string& name, const std::string& description);
  std::uint64_t add_track(std::uint64_t parent, const std::string& name);
  /// Adds one track, or several of the same name if slices overlap without nesting.
  void add_lanes(std::uint64_t parent, const std::string& name, std::vector<Drawn> drawn);

  void add_counter(std::uint64_t parent, const std::string& name, const CounterUnit& unit,
                   const std::vector<CounterValue>& values);

  /// Returns the trace: the descriptors of all tracks, then all events sorted by time.
  std::string finish() &&;

 private:
  struct Event {
    std::int64_t time;
    std::string packet;
  };
  enum class EventType : std::int32_t { begin = 1, end = 2, instant = 3, counter = 4 };

  template <class Fill>
  void add_descriptor(const Fill& fill);
  /// Adds a track below `parent`. Siblings are shown in the order in which they were added.
  template <class Fill>
  std::uint64_t add_child(std::uint64_t parent, const std::string& name, const Fill& fill);
  void add_packet(const std::string& packet);
  void add_lane(std::uint64_t track, const std::vector<Drawn>& drawn);
  void add_event(std::uint64_t track, EventType type, std::int64_t time, const Drawn* drawn,
                 std::optional<double> counted = std::nullopt);

  std::int64_t origin_;
  std::uint64_t last_uuid_ = 0;
  std::string trace_;
  std::vector<Event> events_;
};

}  // namespace ddpsim
