// Writes a JSON document value by value. Times come from integer picoseconds and keep every digit,
// which a conversion through double would lose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Microseconds from integer picoseconds, with at most six decimals and no trailing zeros ("95736",
/// "-0.5").
std::string microseconds_token(Duration duration);

/// The shortest text that reads back as the same double. JSON has no infinities and no NaN; both
/// become "null".
std::string number_token(double value);

/// A ratio or percentage, rounded to six decimals.
std::string ratio_token(double value);

/// A quoted JSON string. Characters that `printable` (quote.hpp) would not show are escaped; bytes
/// that are not UTF-8 are replaced.
std::string string_token(std::string_view text);

/// Returns the JSON document with every character escaped that `printable` would not show, even if
/// JSON allows it unescaped. `json` must be valid and ASCII outside its strings.
std::string with_escapes(std::string json);

class JsonWriter {
 public:
  /// `line` keeps a container and everything in it on one line.
  enum class Layout { block, line };

  void begin_object(Layout layout = Layout::block);
  void end_object();
  void begin_array(Layout layout = Layout::block);
  void end_array();

  JsonWriter& key(std::string_view name);
  void string(std::string_view text);
  void integer(std::int64_t value);
  void count(std::uint64_t value);
  void number(double value);
  void ratio(double value);
  void time(Duration duration);
  void time(TimePoint instant);
  void boolean(bool value);
  void null();
  void value(std::string_view json);  ///< complete JSON text, written unchanged
  // An absent value is written as null.
  void string_or_null(std::string_view text);
  void count(std::optional<std::size_t> value);
  void number(std::optional<double> value);
  void ratio(std::optional<double> value);
  void time(std::optional<Duration> duration);
  void strings(const std::vector<std::string>& texts);
  void indices(const std::vector<std::size_t>& values);

  /// The document, with a newline at its end.
  std::string finish() &&;

 private:
  struct Level {
    bool line = false;
    bool empty = true;
  };
  void begin(char bracket, Layout layout);
  void end(char bracket);
  void token(std::string_view text);
  void separate();
  void new_line();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace ddpsim
