#include "ddpsim/formats/json_writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "code_point.hpp"

namespace ddpsim {

std::string microseconds_token(Duration duration) {
  constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;
  const std::int64_t count = duration.picoseconds();
  const std::uint64_t magnitude =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string text =
      fmt::format("{}{}", count < 0 ? "-" : "", magnitude / kPicosecondsPerMicrosecond);
  if (const std::uint64_t fraction = magnitude % kPicosecondsPerMicrosecond; fraction != 0) {
    text += fmt::format(".{:06}", fraction);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string number_token(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == 0) return "0";
  return fmt::format("{}", value);
}

std::string string_token(std::string_view text) {
  return with_escapes(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string with_escapes(std::string json) {
  const auto may_hide = [](char c) { return c < ' ' || c > '~'; };
  if (std::ranges::none_of(json, may_hide)) return json;
  std::string escaped;
  for (std::string_view rest = json; !rest.empty();) {
    const CodePoint first = first_code_point(rest);
    const std::string_view own = rest.substr(0, std::max<std::size_t>(first.bytes, 1));
    rest.remove_prefix(own.size());
    constexpr char32_t kFirstSurrogate = 0x10000;  // from here on, a pair of escapes
    if (first.value < 0x7F || is_shown(first.value) || first.value >= kFirstSurrogate)
      escaped += own;
    else
      escaped += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(first.value));
  }
  return escaped;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  text_ += string_token(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

std::string ratio_token(double value) {
  constexpr double kMillion = 1e6;
  const double rounded = std::round(value * kMillion) / kMillion;
  return number_token(std::isfinite(rounded) ? rounded : value);
}

void JsonWriter::begin_object(Layout layout) {
  begin('{', layout);
}

void JsonWriter::end_object() {
  end('}');
}

void JsonWriter::begin_array(Layout layout) {
  begin('[', layout);
}

void JsonWriter::end_array() {
  end(']');
}

void JsonWriter::string(std::string_view text) {
  token(string_token(text));
}

void JsonWriter::integer(std::int64_t value) {
  token(std::to_string(value));
}

void JsonWriter::count(std::uint64_t value) {
  token(std::to_string(value));
}

void JsonWriter::number(double value) {
  token(number_token(value));
}

void JsonWriter::ratio(double value) {
  token(ratio_token(value));
}

void JsonWriter::time(Duration duration) {
  token(microseconds_token(duration));
}

void JsonWriter::time(TimePoint instant) {
  time(instant.since_start());
}

void JsonWriter::boolean(bool value) {
  token(value ? "true" : "false");
}

void JsonWriter::null() {
  token("null");
}

void JsonWriter::string_or_null(std::string_view text) {
  text.empty() ? null() : string(text);
}

void JsonWriter::count(std::optional<std::size_t> value) {
  value ? count(*value) : null();
}

void JsonWriter::number(std::optional<double> value) {
  value ? number(*value) : null();
}

void JsonWriter::ratio(std::optional<double> value) {
  value ? ratio(*value) : null();
}

void JsonWriter::time(std::optional<Duration> duration) {
  duration ? time(*duration) : null();
}

void JsonWriter::value(std::string_view json) {
  token(json);
}

void JsonWriter::strings(const std::vector<std::string>& texts) {
  begin_array();
  for (const std::string& text : texts) string(text);
  end_array();
}

void JsonWriter::indices(const std::vector<std::size_t>& values) {
  begin_array(Layout::line);
  for (const std::size_t value : values) count(value);
  end_array();
}

std::string JsonWriter::finish() && {
  text_ += '\n';
  return std::move(text_);
}

void JsonWriter::begin(char bracket, Layout layout) {
  separate();
  text_ += bracket;
  const bool outer_line = !levels_.empty() && levels_.back().line;
  levels_.push_back({.line = outer_line || layout == Layout::line, .empty = true});
}

void JsonWriter::end(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.line && !level.empty) new_line();
  text_ += bracket;
}

void JsonWriter::token(std::string_view text) {
  separate();
  text_ += text;
}

void JsonWriter::separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += level.line ? ", " : ",";
  if (!level.line) new_line();
  level.empty = false;
}

void JsonWriter::new_line() {
  text_ += '\n';
  text_.append(2 * levels_.size(), ' ');
}

}  // namespace ddpsim
