// Tokens and layout of every JSON document.
#include <doctest/doctest.h>

#include <limits>

#include "ddpsim/formats/json_writer.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("JSON tokens: microseconds keep every picosecond without trailing zeros") {
  CHECK(microseconds_token(Duration()) == "0");
  CHECK(microseconds_token(95'736_us) == "95736");
  CHECK(microseconds_token(1_ps) == "0.000001");
  CHECK(microseconds_token(-Duration::picoseconds(1)) == "-0.000001");
  CHECK(microseconds_token(-Duration::picoseconds(500'000)) == "-0.5");
  CHECK(microseconds_token(10_us + 100_ps) == "10.0001");
  CHECK(microseconds_token(Duration::max()) == "9223372036854.775807");
  CHECK(microseconds_token(Duration::picoseconds(std::numeric_limits<std::int64_t>::min())) ==
        "-9223372036854.775808");
}

TEST_CASE("JSON tokens: the shortest number that reads back, and null for infinities and NaN") {
  CHECK(number_token(60) == "60");
  CHECK(number_token(0.1) == "0.1");
  CHECK(number_token(-0.0) == "0");
  CHECK(number_token(25.000000953674316) == "25.000000953674316");
  CHECK(number_token(std::numeric_limits<double>::infinity()) == "null");
  CHECK(number_token(std::numeric_limits<double>::quiet_NaN()) == "null");
}

TEST_CASE("JSON tokens: a ratio has six decimals, rounded") {
  CHECK(ratio_token(1.0 / 3) == "0.333333");
  CHECK(ratio_token(2.0 / 3) == "0.666667");
  CHECK(ratio_token(-2.0 / 3) == "-0.666667");
  CHECK(ratio_token(0.85) == "0.85");
  CHECK(ratio_token(1e305) == "1e+305");  // a million times that is no double
  CHECK(ratio_token(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("JSON tokens: strings are quoted, control characters escaped, broken UTF-8 replaced") {
  CHECK(string_token("a\"b\\\n\t\x1b") == R"("a\"b\\\n\t\u001b")");
  CHECK(string_token("µ") == "\"µ\"");
  CHECK(string_token("\xff") == "\"\xef\xbf\xbd\"");
}

TEST_CASE(
    "JSON document: two spaces per level, one line on request, empty containers closed at once") {
  JsonWriter json;
  json.begin_object();
  json.key("a").integer(-1);
  json.key("line").begin_object(JsonWriter::Layout::line);
  json.key("b").count(std::uint64_t{2});
  json.key("inside").begin_array();  // on the same line
  json.boolean(true);
  json.boolean(false);
  json.end_array();
  json.end_object();
  json.key("none").begin_array();
  json.end_array();
  json.key("texts").strings({"x", "y"});
  json.key("indices").indices({3, 4});
  json.key("time").time(TimePoint(5_us));
  json.end_object();
  CHECK(std::move(json).finish() == R"({
  "a": -1,
  "line": {"b": 2, "inside": [true, false]},
  "none": [],
  "texts": [
    "x",
    "y"
  ],
  "indices": [3, 4],
  "time": 5
}
)");
}

TEST_CASE("JSON document: absent values are null, present values are not") {
  JsonWriter json;
  json.begin_array(JsonWriter::Layout::line);
  json.string_or_null("");
  json.string_or_null("x");
  json.count(std::optional<std::size_t>());
  json.count(std::optional<std::size_t>(1));
  json.number(std::optional<double>());
  json.number(std::optional<double>(0.1234567));
  json.ratio(std::optional<double>());
  json.ratio(std::optional<double>(0.1234567));
  json.time(std::optional<Duration>());
  json.time(std::optional<Duration>(2_us));
  json.null();
  json.end_array();
  CHECK(std::move(json).finish() ==
        "[null, \"x\", null, 1, null, 0.1234567, null, 0.123457, null, 2, null]\n");
}
