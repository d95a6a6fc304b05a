#include "json_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace ddpsim {
namespace {

/// Length of the UTF-8 sequence that starts at `at`, or 0 where none does (RFC 3629).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(at + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned next = byte(at + 1);
    if (lead == 0xE0 && next < 0xA0) return 0;  // overlong
    if (lead == 0xED && next > 0x9F) return 0;  // surrogates
    return continues(at + 1) && continues(at + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned next = byte(at + 1);
    if (lead == 0xF0 && next < 0x90) return 0;
    if (lead == 0xF4 && next > 0x8F) return 0;  // beyond U+10FFFF
    return continues(at + 1) && continues(at + 2) && continues(at + 3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out + "\"";
}

std::string json_microseconds(Duration duration) {
  constexpr std::uint64_t kPerMicrosecond = 1'000'000;
  const std::int64_t count = duration.picoseconds();
  const bool negative = count < 0;
  const std::uint64_t magnitude = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(count)
                                           : static_cast<std::uint64_t>(count);
  std::string out = fmt::format("{}{}", negative ? "-" : "", magnitude / kPerMicrosecond);
  if (magnitude % kPerMicrosecond != 0) {
    out += fmt::format(".{:06}", magnitude % kPerMicrosecond);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out;
}

}  // namespace ddpsim
