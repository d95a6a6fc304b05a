// Finds where top-level objects end. It looks for braces outside strings, 64 bytes at a time.
//
// For each block of 64 bytes, bit masks show where quotes, backslashes and braces are. A backslash
// escapes the next byte. The running parity of the remaining quotes shows which bytes lie inside
// strings (the idea of Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019). The few
// braces outside strings are then processed one by one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddpsim {

class BraceScanner {
 public:
  /// Scans [begin, end) and continues where the last call stopped. `begin` and `end` are offsets
  /// into `text`. The 64 bytes after `end` must be readable.
  void scan(const char* text, std::size_t begin, std::size_t end);

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// Offset after the last object that closed at depth 0, or kNone.
  std::size_t last_end() const { return last_end_; }
  /// Offset of the ']' that ended the list, or kNone. Nothing after it was scanned.
  std::size_t list_end() const { return list_end_; }
  /// Offset of the first byte between two events that is not allowed there, or kNone.
  std::size_t stray() const { return stray_; }
  std::int64_t depth() const { return depth_; }

  /// Adjusts all offsets after the bytes before `offset` left the window.
  void shift(std::size_t offset);

 private:
  void block(const char* text, std::size_t at, std::size_t length);
  /// Checks the bytes between events. Returns true if the scan ends here.
  bool between(const char* text, std::size_t from, std::size_t to);

  std::int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  ///< first byte of the next block is escaped
  std::size_t last_end_ = kNone;
  std::size_t list_end_ = kNone;
  std::size_t stray_ = kNone;
  /// An event came last, so a comma must follow.
  bool after_event_ = false;
  bool any_event_ = false;
};

}  // namespace ddpsim
