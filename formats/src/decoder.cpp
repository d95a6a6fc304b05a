#include "ddpsim/formats/decoder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "json_tree.hpp"

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;

/// What stands there, as a message may show it.
std::string shown(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::string:
      return in_quotes(value.get_ref<const std::string&>());
    case Json::value_t::array:
      return "an array";
    case Json::value_t::object:
      return "an object";
    default:
      return value.dump();
  }
}

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

/// A double above 2^53 no longer says which integer was meant.
constexpr double kExactIntegers = 9007199254740992.0;

}  // namespace

bool Cursor::is_null() const {
  return value_->is_null();
}
bool Cursor::is_object() const {
  return value_->is_object();
}
bool Cursor::is_array() const {
  return value_->is_array();
}
bool Cursor::is_string() const {
  return value_->is_string();
}
bool Cursor::is_number() const {
  return value_->is_number();
}

void Cursor::fail(std::string message, std::string hint) const {
  throw InputError({*file_, where_, std::move(message), std::move(hint)});
}

std::string Cursor::string() const {
  if (!value_->is_string()) fail(shown(*value_) + " is not a string; expected text in quotes");
  return value_->get_ref<const std::string&>();
}

bool Cursor::boolean() const {
  if (!value_->is_boolean()) fail(shown(*value_) + " is not true or false");
  return value_->get<bool>();
}

std::int64_t Cursor::integer(std::int64_t low, std::int64_t high) const {
  const auto refuse = [&](const char* what) {
    fail(fmt::format("{} is {}; expected an integer from {} to {}", shown(*value_), what, low,
                     high));
  };
  constexpr const char* kOutOfRange = "out of range";
  if (!value_->is_number()) refuse("not a number");
  std::int64_t result = 0;
  if (value_->is_number_float()) {  // 3.0 and 1e3 are integers too
    const double real = value_->get<double>();
    if (real != std::trunc(real)) refuse("not a whole number");
    if (std::fabs(real) > kExactIntegers) refuse(kOutOfRange);
    result = static_cast<std::int64_t>(real);
  } else if (value_->is_number_unsigned()) {
    const auto natural = value_->get<std::uint64_t>();
    if (natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      refuse(kOutOfRange);
    result = static_cast<std::int64_t>(natural);
  } else {
    result = value_->get<std::int64_t>();
  }
  if (result < low || result > high) refuse(kOutOfRange);
  return result;
}

double Cursor::number(double low, double high) const {
  const auto refuse = [&](const char* what) {
    fail(fmt::format("{} is {}; expected a number from {} to {}", shown(*value_), what, low, high));
  };
  if (!value_->is_number()) refuse("not a number");
  const double result = value_->get<double>();
  if (!(result >= low && result <= high)) refuse("out of range");
  return result;
}

Duration Cursor::microseconds(bool may_be_negative) const {
  constexpr double kLongest = 9.2e12;  // 106 days: what 63 bits of picoseconds hold
  if (!value_->is_number()) {
    fail(shown(*value_) + " is not a number; expected microseconds, such as 12.5");
  }
  const double count = value_->get<double>();
  if (count < 0 && !may_be_negative) {
    fail(shown(*value_) + " is negative; expected microseconds, 0 or more");
  }
  if (!(std::fabs(count) <= kLongest)) {
    fail(shown(*value_) + " is out of range; expected at most 9.2e12 microseconds (106 days)");
  }
  return Duration::microseconds(count);
}

Duration Cursor::duration() const {
  if (!value_->is_string()) {
    fail(shown(*value_) + R"( has no unit; expected a time such as "3.2us")");
  }
  const auto parsed = parse_duration(value_->get_ref<const std::string&>());
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

Bytes Cursor::bytes() const {
  if (!value_->is_string()) {
    fail(shown(*value_) + R"( has no unit; expected a size such as "25MiB")");
  }
  const auto parsed = parse_bytes(value_->get_ref<const std::string&>());
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

Bandwidth Cursor::bandwidth() const {
  if (!value_->is_string()) {
    fail(shown(*value_) + R"( has no unit; expected a rate such as "100Gbps" or "25GBps")");
  }
  const auto parsed = parse_bandwidth(value_->get_ref<const std::string&>());
  if (!parsed.value) fail(parsed.problem);
  return *parsed.value;
}

std::string Cursor::choice(std::initializer_list<std::string_view> choices) const {
  if (!value_->is_string()) {
    fail(fmt::format("{} is not a string; expected one of: {}", shown(*value_),
                     fmt::join(choices, ", ")));
  }
  const std::string& word = value_->get_ref<const std::string&>();
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return word;
  const std::vector<std::string> words(choices.begin(), choices.end());
  fail(fmt::format("{} is not known; expected one of: {}", in_quotes(word), fmt::join(words, ", ")),
       did_you_mean(word, words));
}

std::vector<Cursor> Cursor::array() const {
  if (!value_->is_array()) fail(shown(*value_) + " is not an array; expected [ … ]");
  std::vector<Cursor> items;
  items.reserve(value_->size());
  for (const Json& item : *value_) {
    items.push_back(Cursor(&item, file_, fmt::format("{}/{}", where_, items.size())));
  }
  return items;
}

Object Cursor::object(std::initializer_list<std::string_view> known) const {
  return object(std::span(known.begin(), known.size()));
}

Object Cursor::object(std::span<const std::string_view> known) const {
  Object result = free_object();
  for (const auto& [key, value] : value_->get_ref<const Json::object_t&>()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> words(known.begin(), known.end());
    throw InputError({*file_, where_ + "/" + escaped(key), "unknown key " + in_quotes(key),
                      did_you_mean_or_known(key, words, "Known keys here")});
  }
  return result;
}

Object Cursor::free_object() const {
  if (!value_->is_object()) fail(shown(*value_) + " is not an object; expected { … }");
  return Object(*this);
}

std::optional<Cursor> Object::optional(std::string_view key) const {
  for (const auto& [name, value] : cursor_.value_->get_ref<const Json::object_t&>()) {
    if (name != key) continue;
    if (value.is_null()) return std::nullopt;
    return Cursor(&value, cursor_.file_, cursor_.where_ + "/" + escaped(key));
  }
  return std::nullopt;
}

Cursor Object::required(std::string_view key) const {
  for (const auto& [name, value] : cursor_.value_->get_ref<const Json::object_t&>()) {
    if (name == key) return Cursor(&value, cursor_.file_, cursor_.where_ + "/" + escaped(key));
  }
  cursor_.fail("missing " + in_quotes(key));
}

bool Object::has(std::string_view key) const {
  return optional(key).has_value();
}

std::vector<std::pair<std::string, Cursor>> Object::items() const {
  std::vector<std::pair<std::string, Cursor>> result;
  for (const auto& [name, value] : cursor_.value_->get_ref<const Json::object_t&>()) {
    result.emplace_back(name, Cursor(&value, cursor_.file_, cursor_.where_ + "/" + escaped(name)));
  }
  return result;
}

Document Document::parse(std::string_view text, std::string file) {
  Document document;
  document.file_ = std::make_shared<const std::string>(std::move(file));
  document.json_ = parse_json_tree(text, *document.file_);
  return document;
}

Cursor Document::root() const {
  return Cursor(json_.get(), file_, "");
}

}  // namespace ddpsim
