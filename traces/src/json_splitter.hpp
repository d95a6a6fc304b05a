// Cuts a trace of any length into batches of whole events, through one window.
//
// A trace is an object with a list "traceEvents", or a bare list. The list is never held in memory.
// The window is scanned for braces outside strings, the longest run of whole events is handed out
// in place, and only an unfinished event is carried over. The other top-level members are small;
// the few that matter are kept as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "brace_scanner.hpp"
#include "ddpsim/formats/hint.hpp"
#include "ddpsim/traces/profiler_trace.hpp"

namespace ddpsim {

/// A JSON array of whole events, "[{…},{…}]", followed by readable padding. Valid until the next
/// call.
struct EventBatch {
  std::string_view text;
  std::uint64_t offset = 0;  ///< offset of `text` in the uncompressed file
};

class JsonSplitter {
 public:
  /// Bytes that a parser may read beyond the end of a batch.
  static constexpr std::size_t kPadding = 64;

  JsonSplitter(const ByteSource& source, std::string file);

  /// The next events, or an empty text after the last one. Throws InputError for broken structure.
  EventBatch next();

  /// Makes the batch readable if an older exporter wrote raw control characters or invalid UTF-8
  /// into strings. They become spaces and question marks. No name that we look for contains any.
  void mend(const EventBatch& batch);
  bool mended() const { return mended_; }

  /// Text of a top-level member that is kept; empty if absent. Complete after the last batch.
  std::string_view member(std::string_view name) const;
  /// How often the member occurs.
  std::size_t members(std::string_view name) const;

  [[noreturn]] void fail(std::uint64_t offset, std::string message, Hint hint = {}) const;

 private:
  enum class State { begin, members, events, end };

  /// Drops consumed bytes and reads more. False at the end of the source.
  bool refill();
  /// Next byte that is not white space; −1 at the end.
  int peek();
  int next_byte();
  void expect(char wanted, const char* meaning);
  /// Offset in the file of a byte in the window.
  std::uint64_t offset_of(std::size_t index) const { return consumed_ + index - kFirst; }

  void begin();
  void read_members();
  std::string read_string();
  /// Skips one value of any kind. Its text is kept only if `keep` is set.
  std::string skip_value(bool keep);
  void begin_events();
  EventBatch next_events();
  void expect_nothing_more();
  [[noreturn]] void fail_truncated();

  /// One byte in front of the data is reserved for the opening bracket of a batch.
  static constexpr std::size_t kFirst = 1;

  const ByteSource& source_;
  std::string file_;
  std::vector<char> window_;
  std::size_t at_ = kFirst;      ///< next byte to read
  std::size_t filled_ = kFirst;  ///< end of the bytes read
  std::uint64_t consumed_ = 0;   ///< bytes of the file before the window
  bool drained_ = false;
  State state_ = State::begin;
  bool bare_list_ = false;
  bool events_seen_ = false;
  BraceScanner scanner_;
  std::size_t scanned_ = kFirst;
  /// The byte that the batch's closing bracket replaced.
  char behind_batch_ = 0;
  bool must_restore_ = false;
  bool mended_ = false;
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace ddpsim
