// Cuts a trace of any length into batches of whole events, through one window.
//
// A trace is an object with a list "traceEvents", or a bare list. The list is never held: the
// window is scanned for the braces that lie outside strings, the longest run of whole events is
// handed out where it lies, and only an unfinished event is carried over. The other top-level
// members are small; the few that matter are kept as text.
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
  std::uint64_t offset = 0;  ///< of `text` in the uncompressed file
};

class JsonSplitter {
 public:
  /// Bytes a parser may read beyond the end of a batch.
  static constexpr std::size_t kPadding = 64;

  JsonSplitter(const ByteSource& source, std::string file);

  /// The next events, or an empty text after the last. Throws InputError on broken structure.
  EventBatch next();

  /// Makes the batch readable where older exporters wrote raw control characters into strings, or
  /// bytes that are not UTF-8: they become spaces and question marks. No name we look for has any.
  void mend(const EventBatch& batch);
  bool mended() const { return mended_; }

  /// Text of a kept top-level member; empty when absent. Complete after the last batch.
  std::string_view member(std::string_view name) const;
  /// How often it stands there.
  std::size_t members(std::string_view name) const;

  [[noreturn]] void fail(std::uint64_t offset, std::string message, Hint hint = {}) const;

 private:
  enum class State { begin, members, events, end };

  bool refill();  ///< drops what was taken, reads more; false at the end of the source
  int peek();     ///< next byte that is not white space, −1 at the end
  int next_byte();
  void expect(char wanted, const char* meaning);
  /// Offset in the file of a byte of the window.
  std::uint64_t offset_of(std::size_t index) const { return consumed_ + index - kFirst; }

  void begin();
  void read_members();
  std::string read_string();
  /// Runs over one value of any kind; its text is kept only on request.
  std::string skip_value(bool keep);
  void begin_events();
  EventBatch next_events();
  void expect_nothing_more();
  [[noreturn]] void fail_truncated();

  /// One byte before the data is ours, for the opening bracket of a batch.
  static constexpr std::size_t kFirst = 1;

  const ByteSource& source_;
  std::string file_;
  std::vector<char> window_;
  std::size_t at_ = kFirst;      ///< next byte to look at
  std::size_t filled_ = kFirst;  ///< end of the bytes read
  std::uint64_t consumed_ = 0;   ///< bytes of the file before the window
  bool drained_ = false;
  State state_ = State::begin;
  bool bare_list_ = false;
  bool events_seen_ = false;
  BraceScanner scanner_;
  std::size_t scanned_ = kFirst;
  char behind_batch_ = 0;  ///< the byte that the batch's closing bracket replaced
  bool must_restore_ = false;
  bool mended_ = false;
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace ddpsim
