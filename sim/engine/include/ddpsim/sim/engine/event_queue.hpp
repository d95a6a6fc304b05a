// Future events in total order. Events leave by (time, sequence), so two events at the same time
// leave in the order in which they were scheduled.
//
// This is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: Faster algorithms for the shortest path
// problem, 1990). Simulated time never runs backwards, so an event is compared with the time of the
// last event that left. Its bucket is the highest digit that differs, and the value of that digit.
// Events of one time always share a bucket and stay there in order, so no sequence number is
// stored. When the first bucket's turn comes, its events move to buckets of lower digits, at most
// once per digit. The cost does not grow with the number of pending events.
//
// The event just pushed is often the next to leave, because one stream works while all others wait
// for it. If the bounds of the first bucket show that it comes before all others, it waits apart
// and never enters the heap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/assert.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

template <typename Payload>
class EventQueue {
 public:
  /// Precondition: `time` is not before the last event that left.
  void push(TimePoint time, Payload payload) {
    Entry entry{static_cast<std::uint64_t>(time.since_start().picoseconds()) ^ kSign,
                std::move(payload)};
    DDPSIM_ASSERT(entry.key >= last_, "an event lies in the past", time, instant(last_));
    if (next_ && entry.key <= next_->key) {
      put(std::move(*next_));
      next_.reset();
    }
    if (!next_ && is_before_all(entry.key))
      next_.emplace(std::move(entry));
    else
      put(std::move(entry));
  }

  /// Removes and returns the earliest event. Precondition: !empty().
  std::pair<TimePoint, Payload> pop() {
    if (next_) {
      const Entry entry = std::move(*next_);
      next_.reset();
      last_ = entry.key;
      return {instant(entry.key), entry.payload};
    }
    if (next_due_ == due_.size()) refill();
    Entry& entry = due_[next_due_++];
    last_ = entry.key;
    return {instant(entry.key), std::move(entry.payload)};
  }

  /// Whether another event of the instant that was popped last is waiting.
  bool more_now() const { return next_due_ != due_.size(); }

  bool empty() const { return !next_ && next_due_ == due_.size() && levels_ == 0; }

 private:
  static constexpr std::size_t kBits = 4;  ///< per digit
  static constexpr std::size_t kDigits = std::size_t{1} << kBits;
  static constexpr std::size_t kLevels = 64 / kBits;
  /// Maps the order of signed numbers to that of unsigned ones.
  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

  struct Entry {
    std::uint64_t key;  ///< time
    Payload payload;
  };

  static TimePoint instant(std::uint64_t key) {
    return TimePoint(Duration::picoseconds(static_cast<std::int64_t>(key ^ kSign)));
  }

  /// Whether `key` is later than the event that was popped last and before the first bucket begins.
  bool is_before_all(std::uint64_t key) const {
    if (key == last_ || more_now()) return false;
    if (levels_ == 0) return true;
    const auto level = static_cast<std::size_t>(std::countr_zero(levels_));
    const auto digit = static_cast<std::uint64_t>(std::countr_zero(digits_[level]));
    const std::uint64_t below = std::uint64_t{kDigits} << (level * kBits);  // 0: all digits
    return key < ((now_ & -below) | digit << (level * kBits));
  }

  void put(Entry entry) {
    const std::uint64_t differs = entry.key ^ now_;
    if (differs == 0 || entry.key == last_) {
      if (!more_now()) {
        due_.clear();
        next_due_ = 0;
      }
      due_.push_back(std::move(entry));
      return;
    }
    const std::size_t level = (static_cast<std::size_t>(std::bit_width(differs)) - 1) / kBits;
    const std::size_t digit = (entry.key >> (level * kBits)) % kDigits;
    levels_ |= std::uint64_t{1} << level;
    digits_[level] |= std::uint32_t{1} << digit;
    buckets_[level * kDigits + digit].push_back(std::move(entry));
  }

  /// Moves the earliest events, which all have one time, to due_. Precondition: due_ has no events
  /// left.
  void refill() {
    due_.clear();
    next_due_ = 0;
    const auto level = static_cast<std::size_t>(std::countr_zero(levels_));
    std::uint32_t& digits = digits_[level];
    const auto digit = static_cast<std::size_t>(std::countr_zero(digits));
    digits &= digits - 1;
    if (digits == 0) levels_ &= levels_ - 1;
    std::vector<Entry>& bucket = buckets_[level * kDigits + digit];
    std::uint64_t earliest = bucket.front().key;
    for (const Entry& entry : bucket) earliest = std::min(earliest, entry.key);
    now_ = last_ = earliest;
    for (Entry& entry : bucket) put(std::move(entry));
    bucket.clear();
  }

  std::optional<Entry> next_;  ///< apart, before all others
  std::vector<Entry> due_;     ///< at last_, in order
  std::size_t next_due_ = 0;
  std::uint64_t last_ = 0;  ///< key of the last event; 0: none
  /// Key of the last event that left a bucket. Levels and digits are differences to it.
  std::uint64_t now_ = 0;
  std::array<std::vector<Entry>, kLevels * kDigits> buckets_;
  /// For each level, one bit per bucket that is not empty.
  std::array<std::uint32_t, kLevels> digits_{};
  std::uint64_t levels_ = 0;  ///< one bit per level that is not empty
};

}  // namespace ddpsim
