#include "ddpsim/formats/decoder.hpp"
#include "complaint.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace ddpsim;

namespace {

/// The message for `use` applied to the root of `text`; "" if it accepts.
template <typename Use>
std::string complaint(const std::string& text, Use use) {
  return complaint_of([&] {
    const Document document = Document::parse(text, "f.json");
    use(document.root());
  });
}

std::string parse_complaint(const std::string& text) {
  return complaint(text, [](const Cursor&) {});
}

}  // namespace

TEST_CASE("decoder: text that is not strict JSON is refused with line and column") {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string nan_hint =
      "not valid JSON: NaN and Infinity are not numbers in JSON. Leave the field out if the value "
      "is unknown";
  const std::vector<Case> cases = {
      {"", "f.json:line 1, column 1: the file is empty; expected a JSON document"},
      {"{\"a\":1,\n \"a\":2}",
       "f.json:line 2, column 4: the key \"a\" appears twice in one object. Keep one of them"},
      {"[NaN]", "f.json:line 1, column 2: " + nan_hint},
      {"[-Infinity]", "f.json:line 1, column 3: " + nan_hint},
      {"[1 /* why */]", "f.json:line 1, column 4: not valid JSON: comments are not allowed"},
      {"{} {}", "f.json:line 1, column 4: not valid JSON: unexpected '{'"},
      {"[1e999]", "f.json:line 1, column 6: not valid JSON: a number is too large to represent"},
      {"[\"\xff\"]",
       "f.json:line 1, column 3: not valid JSON: a byte that is not UTF-8. Save the file as UTF-8"},
      {"{\"a\":", "f.json:line 1, column 5: not valid JSON: the text ends too early"},
      {"[\"abc", "f.json:line 1, column 5: not valid JSON: the text ends too early"},
      {"[1,]", "f.json:line 1, column 4: not valid JSON: unexpected ']'"},
      {std::string(100, '['), "f.json:line 1, column 65: nested deeper than 64 levels"},
  };
  for (const Case& c : cases) CHECK(parse_complaint(c.text) == c.message);
}

TEST_CASE("decoder: 64 levels are allowed") {
  CHECK(parse_complaint(std::string(64, '[') + std::string(64, ']')) == "");
}

TEST_CASE("decoder: a repeated key is an error only within the same object") {
  CHECK(parse_complaint(R"({"a": {"a": {"a": 1}, "b": {"a": 2}}, "b": [{"a": 3}, {"a": 4}]})") ==
        "");
  CHECK(parse_complaint(R"({"a": {"a": 1}, "b": 2, "a": 3})") ==
        "f.json:line 1, column 27: the key \"a\" appears twice in one object. Keep one of them");
  CHECK(parse_complaint(R"({"b": {"a": 1, "c": [{"a": 2}], "a": 3}})") ==
        "f.json:line 1, column 35: the key \"a\" appears twice in one object. Keep one of them");
}

TEST_CASE("decoder: every value knows its place, however deep it is and whatever precedes it") {
  const Document document = Document::parse(
      R"({"x": [[1], {"deep": {}, "a/b~": [true, {"last": null}]}], "y": 2})", "f.json");
  const Cursor list =
      document.root().free_object().required("x").array()[1].free_object().required("a/b~");
  CHECK(document.root().where() == "");
  CHECK(list.where() == "/x/1/a~1b~0");
  CHECK(list.array()[1].free_object().required("last").where() == "/x/1/a~1b~0/1/last");
  CHECK(document.root().free_object().required("y").where() == "/y");
}

TEST_CASE("decoder: an object of many keys is read in linear time") {
  std::string text = "{";
  for (int i = 0; i < 20'000; ++i) text += "\"key" + std::to_string(i) + "\":0,";
  text += "\"last\":1}";
  const Document document = Document::parse(text, "f.json");
  CHECK(document.root().free_object().required("last").integer(0, 1) == 1);
  CHECK(document.root().free_object().items().size() == 20'001);
}

TEST_CASE("decoder: integers may have a fraction or exponent if that is exact") {
  const auto value = [](const std::string& text) {
    return Document::parse(text, "f.json")
        .root()
        .integer(-10, std::numeric_limits<std::int64_t>::max());
  };
  CHECK(value("3.0") == 3);
  CHECK(value("1e3") == 1000);
  CHECK(value("-0") == 0);
  CHECK(value("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"9223372036854775808", "1e300", "-11", "18446744073709551616", "1e17"}) {
    const std::string message = complaint(text, [](const Cursor& root) {
      root.integer(-10, std::numeric_limits<std::int64_t>::max());
    });
    CHECK(message.find("is out of range; expected an integer from -10 to 9223372036854775807") !=
          std::string::npos);
  }
}

TEST_CASE("decoder: a value of the wrong type is reported with its place and the expected type") {
  struct Case {
    std::string text;
    void (*use)(const Cursor&);
    std::string message;
  };
  const auto field = [](const Cursor& root) { return root.object({"a"}).required("a"); };
  static const auto at = field;
  const std::vector<Case> cases = {
      {R"({"a":1.5})", [](const Cursor& r) { at(r).integer(0, 9); },
       "f.json:/a: 1.5 is not a whole number; expected an integer from 0 to 9"},
      {R"({"a":"7"})", [](const Cursor& r) { at(r).integer(0, 9); },
       "f.json:/a: \"7\" is not a number; expected an integer from 0 to 9"},
      {R"({"a":[1,{}]})", [](const Cursor& r) { at(r).array()[1].string(); },
       "f.json:/a/1: an object is not a string; expected text in quotes"},
      {R"({"a":25})", [](const Cursor& r) { at(r).bandwidth(); },
       "f.json:/a: 25 has no unit; expected a rate such as \"100Gbps\" or \"25GBps\""},
      {R"({"a":"50GB"})", [](const Cursor& r) { at(r).bandwidth(); },
       "f.json:/a: \"50GB\" is a size; expected a rate such as \"50GBps\". Did you mean "
       "\"50GBps\"?"},
      {R"({"a":-1})", [](const Cursor& r) { at(r).microseconds(); },
       "f.json:/a: -1 is negative; expected microseconds, 0 or more"},
      {R"({"a":1e13})", [](const Cursor& r) { at(r).microseconds(); },
       "f.json:/a: 10000000000000.0 is out of range; expected at most 9.2e12 microseconds (106 "
       "days)"},
      {R"({"a":2})", [](const Cursor& r) { at(r).number(0, 1); },
       "f.json:/a: 2 is out of range; expected a number from 0 to 1"},
      {R"({"a":"amb"})",
       [](const Cursor& r) {
         at(r).choice({"amp", "fp32"});
       },
       "f.json:/a: \"amb\" is not known; expected one of: amp, fp32. Did you mean \"amp\"?"},
      {R"({"a":0})", [](const Cursor& r) { at(r).boolean(); }, "f.json:/a: 0 is not true or false"},
      {R"({"b":0})",
       [](const Cursor& r) {
         r.object({"backward", "b"}).required("backward");
       },
       "f.json: missing \"backward\""},
      {R"({"bakward":0})",
       [](const Cursor& r) {
         r.object({"backward", "b"});
       },
       "f.json:/bakward: unknown key \"bakward\". Did you mean \"backward\"?"},
      {R"({"zzz":0})",
       [](const Cursor& r) {
         r.object({"one", "two"});
       },
       "f.json:/zzz: unknown key \"zzz\". Known keys here: one, two"},
      {R"({"a/b~\n":"x"})",
       [](const Cursor& r) { r.free_object().items().front().second.fail("odd"); },
       "f.json:/a~1b~0 : odd"},
      {"[]", [](const Cursor& r) { r.object({"a"}); },
       "f.json: an array is not an object; expected { … }"},
  };
  for (const Case& c : cases) CHECK(complaint(c.text, c.use) == c.message);
}

TEST_CASE("decoder: null counts as absent") {
  const Document document = Document::parse(R"({"a":null})", "f.json");
  const Object object = document.root().object({"a"});
  CHECK_FALSE(object.has("a"));
  CHECK_FALSE(object.optional("a"));
  CHECK(object.required("a").is_null());
}

TEST_CASE("decoder: microseconds keep every picosecond") {
  const Document document = Document::parse("[12.345678, -3]", "f.json");
  const auto items = document.root().array();
  CHECK(items[0].microseconds() == Duration::picoseconds(12'345'678));
  CHECK(items[1].microseconds(true) == Duration::picoseconds(-3'000'000));
}
