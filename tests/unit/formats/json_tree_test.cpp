#include "json_tree.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"

using namespace ddpsim;

namespace {

std::optional<JsonTree> piece_by_piece(const std::string& text) {
  try {
    return read_piece_by_piece(text, "f.json");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void check_alike(const JsonTree& one, const JsonTree& other) {
  CHECK(one.names == other.names);
  CHECK(one.texts == other.texts);
  REQUIRE(one.values.size() == other.values.size());
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    CAPTURE(i);
    CHECK(one.values[i].kind == other.values[i].kind);
    CHECK(one.values[i].parent == other.values[i].parent);
    CHECK(one.values[i].name == other.values[i].name);
    CHECK(one.values[i].behind == other.values[i].behind);
    CHECK(std::memcmp(&one.values[i].integer, &other.values[i].integer, 8) == 0);
  }
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + "1" + std::string(levels, ']');
}

}  // namespace

TEST_CASE("JSON: both parsers give the same tree for a valid document") {
  const std::vector<std::string> documents = {
      "0",
      "-0",
      "-0.0",
      "1e2",
      "1E+2",
      "0.1",
      "2.2250738585072014e-308",
      "5e-324",
      "1e-400",
      "0.1000000000000000055511151231257827021181583404541015625",
      "9223372036854775807",
      "-9223372036854775808",
      "9223372036854775808",
      "18446744073709551615",
      "true",
      "null",
      R"("")",
      R"("\u0041\n\"\\\/\b\f\r\t")",
      R"("\u0000")",
      R"("\ud83d\ude00")",
      "\"\xc3\xa9\"",
      R"({"a": {"b": [1, {"a": 2.5}, []], "": {}}, "b": "a"})",
      " \t\r\n[ 1 , 2 ] \n",
      "[[], {}, [[]]]",
      nested(64)};
  for (const std::string& text : documents) {
    CAPTURE(text);
    const std::optional<JsonTree> slowly = piece_by_piece(text);
    const std::optional<JsonTree> at_once = read_at_once(text, "f.json");
    REQUIRE(slowly);
    REQUIRE(at_once);
    check_alike(*at_once, *slowly);
  }
}

TEST_CASE("JSON: the fast parser leaves invalid documents to the slow one") {
  const std::vector<std::string> documents = {"",
                                              " ",
                                              "{",
                                              "[1,]",
                                              R"({"a":1,})",
                                              "[1 2]",
                                              "1 2",
                                              "[1]]",
                                              "01",
                                              "+1",
                                              ".5",
                                              "1.",
                                              "1e",
                                              "1e999",
                                              "NaN",
                                              "Infinity",
                                              "nul",
                                              "'a'",
                                              "/* */ 1",
                                              "[1] // end",
                                              "\"a",
                                              "\"\n\"",
                                              R"("\x")",
                                              R"("\u12")",
                                              R"("\ud800")",
                                              R"("\udc00")",
                                              R"("\ud800\u0041")",
                                              "\"\xff\"",
                                              "\"\xc0\xaf\"",
                                              "\"\xed\xa0\x80\"",
                                              R"({"a": 1, "a": 2})",
                                              R"({"\u0061": 1, "a": 2})",
                                              R"({1: 2})",
                                              R"({"a"})",
                                              std::string("[0\0]", 4),
                                              nested(65),
                                              nested(5000)};
  for (const std::string& text : documents) {
    CAPTURE(text);
    CHECK_FALSE(piece_by_piece(text));
    CHECK_FALSE(read_at_once(text, "f.json"));
  }
}

TEST_CASE("JSON: the slow parser reads numbers beyond 64 bits") {
  const JsonTree tree = parse_json_tree("[18446744073709551616]", "f.json");
  CHECK(tree.values[1].kind == JsonKind::real);
  CHECK(tree.values[1].real == 18446744073709551616.0);
}
