// Finds where top-level objects end: braces outside strings, 64 bytes at a step.
//
// For each block of 64 bytes, bit masks say where quotes, backslashes and braces are. A backslash
// escapes the next byte; the running parity of the quotes that are left says which bytes lie inside
// strings (the idea of Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019); the few
// braces outside are then walked one by one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddpsim {

class BraceScanner {
 public:
  /// Scans [begin, end) and continues where the last call stopped. `begin` and `end` are offsets
  /// into `text`; 64 bytes beyond `end` must be readable.
  void scan(const char* text, std::size_t begin, std::size_t end);

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// Just behind the last object that was closed at depth 0, or kNone.
  std::size_t last_end() const { return last_end_; }
  /// Where the list itself ended: the offset of its ']', or kNone. Nothing behind it was scanned.
  std::size_t list_end() const { return list_end_; }
  /// Offset of a byte that cannot stand between two events, or kNone.
  std::size_t stray() const { return stray_; }
  std::int64_t depth() const { return depth_; }

  /// The bytes before `offset` leave the window.
  void shift(std::size_t offset);

 private:
  void block(const char* text, std::size_t at, std::size_t length);
  /// Looks at the bytes between events; true when the scan ends here.
  bool between(const char* text, std::size_t from, std::size_t to);

  std::int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  ///< the first byte of the next block is escaped
  std::size_t last_end_ = kNone;
  std::size_t list_end_ = kNone;
  std::size_t stray_ = kNone;
  bool after_event_ = false;  ///< between events: an event stood last, so a comma must come
  bool any_event_ = false;
};

}  // namespace ddpsim
