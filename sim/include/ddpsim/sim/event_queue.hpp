// The future, in total order: events leave by (time, sequence), so two events at one instant leave
// in the order they were scheduled. A binary heap; the three functions are all the simulator knows
// of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

template <typename Payload>
class EventQueue {
 public:
  void push(TimePoint time, Payload payload) {
    heap_.push_back(Entry{time, next_sequence_++, std::move(payload)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// Removes and returns the earliest event. Precondition: !empty().
  std::pair<TimePoint, Payload> pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Entry entry = std::move(heap_.back());
    heap_.pop_back();
    return {entry.time, std::move(entry.payload)};
  }

  bool empty() const { return heap_.empty(); }

 private:
  struct Entry {
    TimePoint time;
    std::uint64_t sequence;
    Payload payload;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }
  std::vector<Entry> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace ddpsim
