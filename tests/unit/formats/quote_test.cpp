#include "ddpsim/formats/quote.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/json_writer.hpp"

using namespace ddpsim;

namespace {

std::string utf8(char32_t character) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (character < 0x80) return {byte(character)};
  if (character < 0x800) return {byte(0xC0 | character >> 6), byte(0x80 | (character & 0x3F))};
  return {byte(0xE0 | character >> 12), byte(0x80 | (character >> 6 & 0x3F)),
          byte(0x80 | (character & 0x3F))};
}

/// Characters that must not be shown: controls, directions, separators.
bool hides(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x61C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c >= 0xFFFE;
}

}  // namespace

TEST_CASE("quote: exactly the characters that control the terminal or hide text are replaced") {
  for (char32_t c = 0; c <= 0xFFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const std::string text = "a" + utf8(c) + "b";
    const std::string shown = c == '\n' || c == '\t' ? "a b" : hides(c) ? "a?b" : text;
    CAPTURE(static_cast<unsigned>(c));
    REQUIRE(printable(text) == shown);
    REQUIRE(legible(text) == shown);
    REQUIRE(printable_lines(text) == (c == '\n' ? text : shown));
    REQUIRE(InputError({"", "", text, ""}).what() == shown);
    const std::string token = string_token(text);
    REQUIRE(nlohmann::json::parse(token).get<std::string>() == text);
    REQUIRE(printable(token) == token);
  }
}

TEST_CASE("quote: bytes that are not UTF-8 are replaced one by one") {
  CHECK(printable("a\xff") == "a?");
  CHECK(printable("\xe2\x82") == "??");            // cut
  CHECK(printable("\xc0\x80") == "??");            // overlong
  CHECK(printable("\xed\xa0\x80") == "???");       // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "????");  // above U+10FFFF
  CHECK(printable("\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");
}

TEST_CASE("quote: a NUL does not cut a message") {
  const InputError error(
      {.file = std::string("f\0g", 3), .where = "", .message = "is wrong", .hint = "Mend it"});
  CHECK(std::string(error.what()) == "f?g: is wrong. Mend it");
}

TEST_CASE("quote: only our own styles are kept, and only on request") {
  const std::string styled = "\x1b[1mbold\x1b[0m and \x1b[2mdim\x1b[0m\n";
  CHECK(printable_lines(styled, Styles::kept) == styled);
  CHECK(printable_lines(styled) == "?[1mbold?[0m and ?[2mdim?[0m\n");
  CHECK(printable_lines("\x1b[2J\x1b]0;title\x07\x1b[31m", Styles::kept) == "?[2J?]0;title??[31m");
}

TEST_CASE("JSON: a document with hidden characters keeps its values and shows none of them") {
  const std::string document = "{\n  \"a\": \"\u202eb\u0085\x7f\u2028é\"\n}\n";
  const std::string escaped = with_escapes(document);
  CHECK(escaped == "{\n  \"a\": \"\\u202eb\\u0085\\u007f\\u2028é\"\n}\n");
  CHECK(nlohmann::json::parse(escaped) == nlohmann::json::parse(document));
}
