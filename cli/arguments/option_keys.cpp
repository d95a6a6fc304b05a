#include "option_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"

namespace ddpsim {

OptionKey flag_key(const std::string& name, bool& into) {
  return {name, [&into](const std::string& value) {
            into = one_of<bool>(value, {{"true", true}, {"false", false}});
          }};
}

OptionKey flag_key(const std::string& name, std::optional<bool>& into) {
  return {name, [&into](const std::string& value) {
            into = one_of<bool>(value, {{"true", true}, {"false", false}});
          }};
}

OptionKey count_key(const std::string& name, std::function<void(std::int64_t)> into,
                    std::int64_t least, std::int64_t most) {
  return {name, [into = std::move(into), least, most](const std::string& value) {
            const auto exact = parse_number<std::int64_t>(value);
            if (!exact || *exact < least || *exact > most)
              throw WrongValue(fmt::format("expected a whole number from {} to {}, not {}", least,
                                           most, in_quotes(value)));
            into(*exact);
          }};
}

OptionKey duration_key(const std::string& name, std::function<void(Duration)> into) {
  return {name, [into = std::move(into)](const std::string& value) {
            const Duration time = sound(parse_duration(value));
            if (time < Duration() || time > Duration::seconds(600))
              throw WrongValue(fmt::format("{} is not a time from 0us to 600s", in_quotes(value)));
            into(time);
          }};
}

OptionKey bytes_key(const std::string& name, std::function<void(Bytes)> into) {
  return {name, [into = std::move(into)](const std::string& value) {
            const Bytes bytes = sound(parse_bytes(value));
            constexpr std::int64_t kMost = 1'000'000'000'000 / 10;
            if (bytes.count() < 0 || bytes.count() > kMost)
              throw WrongValue(fmt::format("{} is not a size up to 100GB", in_quotes(value)));
            into(bytes);
          }};
}

OptionKey bandwidth_key(const std::string& name, std::function<void(Bandwidth)> into) {
  return {
      name, [into = std::move(into)](const std::string& value) {
        const Bandwidth bandwidth = sound(parse_bandwidth(value));
        const double rate = bandwidth.bytes_per_second();
        if (!(rate >= 1e3 && rate <= 1e14))
          throw WrongValue(fmt::format("{} is not a rate from 1KBps to 100TBps", in_quotes(value)));
        into(bandwidth);
      }};
}

std::vector<std::string> take_keys(const std::string& option, std::string_view text,
                                   const std::vector<OptionKey>& keys, KeyStyle style,
                                   const std::string& of) {
  const auto fail = [&](std::string message, Hint hint = {}) {
    throw UsageError(option, std::move(message), std::move(hint));
  };
  std::vector<std::string> names;
  for (const OptionKey& key : keys) names.push_back(key.name);
  const bool commas = style == KeyStyle::commas;
  const char sign = commas ? '=' : ':';
  const Words words = commas ? split(text, ',') : words_of(text);
  if (words.empty())
    fail(fmt::format("the value is empty; expected KEY{}VALUE, with a KEY of {}", sign,
                     fmt::join(names, ", ")));
  std::vector<std::string> given;
  for (const std::string_view word : words) {
    const std::size_t end = word.find(sign);
    const std::string name(word.substr(0, end));
    if (word.empty())
      fail(fmt::format("{}a KEY{}VALUE is missing between two commas or at an end",
                       of.empty() ? "" : of + ": ", sign));
    const auto known = std::ranges::find(keys, name, &OptionKey::name);
    if (known == keys.end()) {
      Complaint unknown = not_one_of(name, names);
      fail((of.empty() ? "" : of + ": ") + unknown.message, std::move(unknown.hint));
    }
    if (end == std::string_view::npos || end + 1 == word.size())
      fail(fmt::format("{}: the value is missing; expected {}{}VALUE", name, name, sign));
    if (std::ranges::find(given, name) != given.end()) fail(fmt::format("{} is given twice", name));
    try {
      known->take(std::string(word.substr(end + 1)));
    } catch (const WrongValue& problem) {
      fail(fmt::format("{}: {}", name, problem.complaint().message), problem.complaint().hint);
    }
    given.push_back(name);
  }
  return given;
}

}  // namespace ddpsim
