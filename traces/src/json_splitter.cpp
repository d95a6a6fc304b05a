#include "json_splitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

/// Large enough that the work per batch is negligible, and small enough for a second-level cache.
constexpr std::size_t kWindow = std::size_t{512} << 10;
/// The window's size until more than this was read, because small files need no large window.
constexpr std::size_t kFirstWindow = std::size_t{8} << 10;
/// No event of a real trace is nearly this long. A file with one endless string must not fill the
/// memory.
constexpr std::size_t kLongestEvent = std::size_t{64} << 20;
constexpr std::size_t kLongestMember = std::size_t{4} << 20;
/// A small archive that inflates without end is refused.
constexpr std::uint64_t kLongestTrace = std::uint64_t{64} << 30;

constexpr std::array<std::string_view, 3> kKeptMembers = {"schemaVersion", "deviceProperties",
                                                          "distributedInfo"};

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

JsonSplitter::JsonSplitter(const ByteSource& source, std::string file)
    : source_(source), file_(std::move(file)), window_(kFirst + kFirstWindow + kPadding) {}

void JsonSplitter::fail(std::uint64_t offset, std::string message, Hint hint) const {
  throw InputError({file_, fmt::format("byte {}", offset), std::move(message), std::move(hint)});
}

void JsonSplitter::fail_truncated() {
  fail(offset_of(filled_), "the trace ends in the middle",
       "The file was cut, or its recording was; copy it again or record fewer steps");
}

EventBatch JsonSplitter::next() {
  if (state_ == State::begin) begin();
  if (state_ == State::members) read_members();
  while (state_ == State::events) {
    const EventBatch batch = next_events();
    if (!batch.text.empty()) return batch;
    if (state_ == State::members) read_members();
  }
  return {};
}

void JsonSplitter::mend(const EventBatch& batch) {
  mended_ = true;
  char* const begin = window_.data() + (batch.text.data() - window_.data());
  for (char* at = begin; at != begin + batch.text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x20) *at = ' ';
    if (byte >= 0x80) *at = '?';
  }
}

std::size_t JsonSplitter::members(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count(members_, name, &std::pair<std::string, std::string>::first));
}

std::string_view JsonSplitter::member(std::string_view name) const {
  for (const auto& [key, text] : members_) {
    if (key == name) return text;
  }
  return {};
}

bool JsonSplitter::refill() {
  const std::size_t taken = at_ - kFirst;
  const std::size_t left = filled_ - at_;
  if (taken > 0) {
    std::memmove(window_.data() + kFirst, window_.data() + at_, left);
    consumed_ += taken;
    scanner_.shift(taken);
    scanned_ = scanned_ > at_ ? scanned_ - taken : kFirst;
    at_ = kFirst;
    filled_ = kFirst + left;
  }
  std::size_t capacity = window_.size() - kPadding;
  if (consumed_ > 0 && capacity < kFirst + kWindow) {
    capacity = kFirst + std::min(kWindow, 2 * (capacity - kFirst));
    window_.resize(capacity + kPadding);
  }
  if (filled_ == capacity) {
    if (left >= kLongestEvent) {
      fail(offset_of(at_), fmt::format("one event is longer than {} MiB", kLongestEvent >> 20));
    }
    window_.resize(kFirst + 2 * (capacity - kFirst) + kPadding);
    capacity = window_.size() - kPadding;
  }
  const std::size_t before = filled_;
  while (!drained_ && filled_ < capacity) {
    const std::size_t got = source_(window_.data() + filled_, capacity - filled_);
    drained_ = got == 0;
    filled_ += got;
  }
  if (offset_of(filled_) > kLongestTrace) {
    fail(offset_of(filled_),
         fmt::format("the uncompressed trace is longer than {} GiB", kLongestTrace >> 30));
  }
  return filled_ > before;
}

int JsonSplitter::peek() {
  for (;;) {
    while (at_ < filled_ && is_space(window_[at_])) ++at_;
    if (at_ < filled_) return static_cast<unsigned char>(window_[at_]);
    if (!refill()) return -1;
  }
}

int JsonSplitter::next_byte() {
  if (at_ == filled_ && !refill()) return -1;
  return static_cast<unsigned char>(window_[at_++]);
}

void JsonSplitter::expect(char wanted, const char* meaning) {
  const int found = peek();
  if (found < 0) fail_truncated();
  if (found != wanted) {
    fail(offset_of(at_), fmt::format("{} where {} was expected",
                                     in_quotes(std::string(1, static_cast<char>(found))), meaning));
  }
  ++at_;
}

void JsonSplitter::begin() {
  refill();
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (std::string_view(window_.data() + at_, filled_ - at_).substr(0, 3) == kByteOrderMark)
    at_ += 3;
  const int first = peek();
  if (first < 0) fail(0, "the file is empty", "Expected a profiler trace");
  if (first == '[') {
    ++at_;
    bare_list_ = true;
    begin_events();
    return;
  }
  if (first != '{') {
    fail(offset_of(at_), "this is not JSON",
         "Expected a profiler trace: { \"traceEvents\": [ … ] }");
  }
  ++at_;
  state_ = State::members;
  if (peek() == '}') {
    ++at_;
    expect_nothing_more();
  }
}

void JsonSplitter::begin_events() {
  events_seen_ = true;
  scanner_ = BraceScanner();
  scanned_ = at_;
  state_ = State::events;
}

void JsonSplitter::read_members() {
  // Also used after the list of events, where a comma or the closing brace comes first.
  for (bool first = !events_seen_;; first = false) {
    if (!first) {
      const int next = peek();
      if (next == '}') {
        ++at_;
        expect_nothing_more();
        return;
      }
      expect(',', "a comma or the closing brace");
    }
    if (state_ == State::end) return;
    const std::uint64_t key_at = offset_of(at_);
    const std::string key = read_string();
    expect(':', "a colon");
    if (key == "traceEvents") {
      if (events_seen_) fail(key_at, "\"traceEvents\" appears a second time");
      expect('[', "the list of events");
      begin_events();
      return;
    }
    const bool keep =
        std::find(kKeptMembers.begin(), kKeptMembers.end(), key) != kKeptMembers.end();
    std::string text = skip_value(keep);
    if (keep) members_.emplace_back(key, std::move(text));
  }
}

std::string JsonSplitter::read_string() {
  expect('"', "a name in quotes");
  std::string text;
  for (;;) {
    int c = next_byte();
    if (c == '"') return text;
    if (c == '\\')
      // No name that we look for has an escape, so its kind does not matter.
      c = next_byte();
    if (c < 0) fail_truncated();
    if (text.size() == kLongestMember) fail(offset_of(at_), "this name does not end");
    text += static_cast<char>(c);
  }
}

std::string JsonSplitter::skip_value(bool keep) {
  std::string text;
  const auto note = [&](int c) {
    if (!keep) return;
    if (text.size() == kLongestMember) {
      fail(offset_of(at_), fmt::format("this member is longer than {} MiB", kLongestMember >> 20));
    }
    text += static_cast<char>(c);
  };
  std::int64_t depth = 0;
  bool in_string = false;
  for (;;) {
    const int c = in_string
                      ? (at_ < filled_ || refill() ? static_cast<unsigned char>(window_[at_]) : -1)
                      : peek();
    if (c < 0) fail_truncated();
    const bool ends_scalar = c == ',' || c == '}' || c == ']';
    if (!in_string && depth == 0 && ends_scalar) return text;
    ++at_;
    note(c);
    if (in_string) {
      if (c == '\\') {
        const int escaped = next_byte();
        if (escaped < 0) fail_truncated();
        note(escaped);
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

EventBatch JsonSplitter::next_events() {
  if (must_restore_) window_[at_] = behind_batch_;
  must_restore_ = false;
  while (scanner_.last_end() == BraceScanner::kNone || scanner_.last_end() <= at_) {
    if (scanner_.list_end() != BraceScanner::kNone) {
      at_ = scanner_.list_end() + 1;
      if (bare_list_) {
        expect_nothing_more();
      } else {
        state_ = State::members;
      }
      return {};
    }
    if (scanner_.stray() != BraceScanner::kNone) {
      fail(offset_of(scanner_.stray()),
           fmt::format("{} between two events",
                       in_quotes(std::string(1, window_[scanner_.stray()]))),
           "Expected { … } with one comma between, and ] after the last");
    }
    if (scanned_ == filled_ && !refill()) fail_truncated();
    scanner_.scan(window_.data(), scanned_, filled_);
    scanned_ = filled_;
  }
  while (window_[at_] != '{') ++at_;  // the scan has checked comma and white space
  const std::size_t first = at_;
  const std::size_t end = scanner_.last_end();
  behind_batch_ = window_[end];
  must_restore_ = true;
  window_[first - 1] = '[';
  window_[end] = ']';
  at_ = end;
  return {std::string_view(window_.data() + first - 1, end - first + 2), offset_of(first) - 1};
}

void JsonSplitter::expect_nothing_more() {
  const int next = peek();
  if (next >= 0) {
    fail(offset_of(at_), fmt::format("{} after the end of the trace",
                                     in_quotes(std::string(1, static_cast<char>(next)))));
  }
  state_ = State::end;
}

}  // namespace ddpsim
