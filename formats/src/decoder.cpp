#include "ddpsim/formats/decoder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "json_tree.hpp"

namespace ddpsim {
namespace {

std::string escaped(std::string_view key) {  // RFC 6901
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return legible(out);
}

/// Above 2^53, a double no longer identifies one integer.
constexpr double kExactIntegers = 9007199254740992.0;

}  // namespace

const JsonValue& Cursor::value() const {
  return tree_->values[place_];
}
std::string_view Cursor::text() const {
  return tree_->text_of(value());
}

bool Cursor::is_null() const {
  return value().kind == JsonKind::null;
}
bool Cursor::is_object() const {
  return value().kind == JsonKind::object;
}
bool Cursor::is_array() const {
  return value().kind == JsonKind::array;
}
bool Cursor::is_string() const {
  return value().kind == JsonKind::string;
}
bool Cursor::is_number() const {
  const JsonKind kind = value().kind;
  return kind == JsonKind::integer || kind == JsonKind::natural || kind == JsonKind::real;
}

double Cursor::real() const {
  const JsonValue& number = value();
  if (number.kind == JsonKind::integer) return static_cast<double>(number.integer);
  if (number.kind == JsonKind::natural) return static_cast<double>(number.natural);
  return number.real;
}

std::string Cursor::where() const {
  if (place_ == 0) return "";
  const JsonValue& here = value();
  const Cursor parent(tree_, here.parent);
  return fmt::format("{}/{}", parent.where(),
                     parent.is_array() ? std::to_string(here.name) : escaped(tree_->name_of(here)));
}

std::string Cursor::shown() const {
  const JsonValue& here = value();
  switch (here.kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return here.boolean ? "true" : "false";
    case JsonKind::integer:
      return std::to_string(here.integer);
    case JsonKind::natural:
      return std::to_string(here.natural);
    case JsonKind::real:
      return nlohmann::json(here.real).dump();
    case JsonKind::string:
      return in_quotes(text());
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      break;
  }
  return "an object";
}

void Cursor::fail(std::string message, Hint hint) const {
  throw InputError({tree_->file, where(), std::move(message), std::move(hint)});
}

std::string Cursor::string() const {
  if (!is_string()) fail(shown() + " is not a string; expected text in quotes");
  return std::string(text());
}

bool Cursor::boolean() const {
  if (value().kind != JsonKind::boolean) fail(shown() + " is not true or false");
  return value().boolean;
}

std::int64_t Cursor::integer(std::int64_t low, std::int64_t high) const {
  const auto refuse = [&](const char* what) {
    fail(fmt::format("{} is {}; expected an integer from {} to {}", shown(), what, low, high));
  };
  constexpr const char* kOutOfRange = "out of range";
  if (!is_number()) refuse("not a number");
  std::int64_t result = 0;
  const JsonValue& number = value();
  if (number.kind == JsonKind::natural) refuse(kOutOfRange);
  if (number.kind == JsonKind::real) {  // 3.0 and 1e3 are integers too
    if (number.real != std::trunc(number.real)) refuse("not a whole number");
    if (std::fabs(number.real) > kExactIntegers) refuse(kOutOfRange);
    result = static_cast<std::int64_t>(number.real);
  } else {
    result = number.integer;
  }
  if (result < low || result > high) refuse(kOutOfRange);
  return result;
}

double Cursor::number(double low, double high) const {
  const auto refuse = [&](const char* what) {
    fail(fmt::format("{} is {}; expected a number from {} to {}", shown(), what, low, high));
  };
  if (!is_number()) refuse("not a number");
  const double result = real();
  if (!(result >= low && result <= high)) refuse("out of range");
  return result;
}

Duration Cursor::microseconds(bool may_be_negative) const {
  constexpr double kLongest = 9.2e12;  // 106 days
  if (!is_number()) {
    fail(shown() + " is not a number; expected microseconds, such as 12.5");
  }
  const double count = real();
  if (count < 0 && !may_be_negative) {
    fail(shown() + " is negative; expected microseconds, 0 or more");
  }
  if (!(std::fabs(count) <= kLongest)) {
    fail(shown() + " is out of range; expected at most 9.2e12 microseconds (106 days)");
  }
  return Duration::microseconds(count);
}

Duration Cursor::duration() const {
  if (!is_string()) {
    fail(shown() + R"( has no unit; expected a time such as "3.2us")");
  }
  const auto parsed = parse_duration(text());
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

Bytes Cursor::bytes() const {
  if (!is_string()) {
    fail(shown() + R"( has no unit; expected a size such as "25MiB")");
  }
  const auto parsed = parse_bytes(text());
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

Bandwidth Cursor::bandwidth() const {
  if (!is_string()) {
    fail(shown() + R"( has no unit; expected a rate such as "100Gbps" or "25GBps")");
  }
  const auto parsed = parse_bandwidth(text());
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

std::string Cursor::choice(std::initializer_list<std::string_view> choices) const {
  return choice(std::vector<std::string>(choices.begin(), choices.end()));
}

std::string Cursor::choice(const std::vector<std::string>& choices) const {
  if (!is_string()) {
    fail(fmt::format("{} is not a string; expected one of: {}", shown(), fmt::join(choices, ", ")));
  }
  const std::string_view word = text();
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return std::string(word);
  fail(fmt::format("{} is not known; expected one of: {}", in_quotes(word),
                   fmt::join(choices, ", ")),
       did_you_mean(word, choices));
}

std::vector<Cursor> Cursor::array() const {
  if (!is_array()) fail(shown() + " is not an array; expected [ … ]");
  std::vector<Cursor> items;
  for (std::uint32_t at = place_ + 1; at < value().behind; at = tree_->values[at].behind)
    items.push_back(Cursor(tree_, at));
  return items;
}

Object Cursor::object(std::initializer_list<std::string_view> known) const {
  return object(std::span(known.begin(), known.size()));
}

template <typename IsKnown, typename Known>
Object Cursor::object_with(IsKnown is_known, Known known) const {
  Object result = free_object();
  for (std::uint32_t at = place_ + 1; at < value().behind; at = tree_->values[at].behind) {
    const std::string& key = tree_->name_of(tree_->values[at]);
    if (is_known(key)) continue;
    Cursor(tree_, at).fail("unknown key " + in_quotes(key),
                           did_you_mean_or_known(key, known(), "Known keys here"));
  }
  return result;
}

Object Cursor::object(std::span<const std::string_view> known) const {
  return object_with(
      [&](std::string_view key) { return std::ranges::find(known, key) != known.end(); },
      [&] { return std::vector<std::string>(known.begin(), known.end()); });
}

Object Cursor::object(const ObjectType& described) const {
  return object_with([&](std::string_view key) { return described.find(key) != nullptr; },
                     [&] {
                       std::vector<std::string> keys;
                       for (const MemberType& member : described.members)
                         keys.push_back(member.key);
                       return keys;
                     });
}

Object Cursor::free_object() const {
  if (!is_object()) fail(shown() + " is not an object; expected { … }");
  return Object(*this);
}

std::optional<Cursor> Object::member(std::string_view key) const {
  const auto& [tree, place] = std::pair(cursor_.tree_, cursor_.place_);
  for (std::uint32_t at = place + 1; at < cursor_.value().behind; at = tree->values[at].behind)
    if (tree->name_of(tree->values[at]) == key) return Cursor(tree, at);
  return std::nullopt;
}

std::optional<Cursor> Object::optional(std::string_view key) const {
  const std::optional<Cursor> found = member(key);
  return found && !found->is_null() ? found : std::nullopt;
}

Cursor Object::required(std::string_view key) const {
  if (const std::optional<Cursor> found = member(key)) return *found;
  cursor_.fail("missing " + in_quotes(key));
}

bool Object::has(std::string_view key) const {
  return optional(key).has_value();
}

std::vector<std::pair<std::string, Cursor>> Object::items() const {
  std::vector<std::pair<std::string, Cursor>> result;
  const JsonTree* tree = cursor_.tree_;
  for (std::uint32_t at = cursor_.place_ + 1; at < cursor_.value().behind;
       at = tree->values[at].behind)
    result.emplace_back(tree->name_of(tree->values[at]), Cursor(tree, at));
  return result;
}

Document Document::parse(std::string_view text, std::string file) {
  Document document;
  document.tree_ = std::make_shared<const JsonTree>(parse_json_tree(text, std::move(file)));
  return document;
}

Cursor Document::root() const {
  return Cursor(tree_.get(), 0);
}

}  // namespace ddpsim
