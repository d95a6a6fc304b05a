#include "option_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"

namespace ddpsim {

OptionKey flag_key(const std::string& name, bool& into) {
  return {name, [&into](const std::string& value) {
            static const std::vector<std::string> kWords = {"true", "false"};
            if (std::ranges::find(kWords, value) == kWords.end()) return not_one_of(value, kWords);
            into = value == "true";
            return std::string();
          }};
}

OptionKey count_key(const std::string& name, std::function<void(std::int64_t)> into,
                    std::int64_t least, std::int64_t most) {
  return {name, [into = std::move(into), least, most](const std::string& value) {
            const auto exact = parse_number<std::int64_t>(value);
            if (!exact || *exact < least || *exact > most)
              return fmt::format("expected a whole number from {} to {}, not {}", least, most,
                                 in_quotes(value));
            into(*exact);
            return std::string();
          }};
}

OptionKey duration_key(const std::string& name, std::function<void(Duration)> into) {
  return {name, [into = std::move(into)](const std::string& value) {
            const Parsed<Duration> parsed = parse_duration(value);
            if (!parsed.value) return parsed.problem;
            if (*parsed.value < Duration() || *parsed.value > Duration::seconds(600))
              return fmt::format("{} is not a time from 0us to 600s", in_quotes(value));
            into(*parsed.value);
            return std::string();
          }};
}

OptionKey bytes_key(const std::string& name, std::function<void(Bytes)> into) {
  return {name, [into = std::move(into)](const std::string& value) {
            const Parsed<Bytes> parsed = parse_bytes(value);
            if (!parsed.value) return parsed.problem;
            constexpr std::int64_t kMost = 1'000'000'000'000 / 10;
            if (parsed.value->count() < 0 || parsed.value->count() > kMost)
              return fmt::format("{} is not a size up to 100GB", in_quotes(value));
            into(*parsed.value);
            return std::string();
          }};
}

OptionKey bandwidth_key(const std::string& name, std::function<void(Bandwidth)> into) {
  return {name, [into = std::move(into)](const std::string& value) {
            const Parsed<Bandwidth> parsed = parse_bandwidth(value);
            if (!parsed.value) return parsed.problem;
            const double rate = parsed.value->bytes_per_second();
            if (!(rate >= 1e3 && rate <= 1e14))
              return fmt::format("{} is not a rate from 1KBps to 100TBps", in_quotes(value));
            into(*parsed.value);
            return std::string();
          }};
}

std::vector<std::string> take_keys(const std::string& option, std::string_view text,
                                   const std::vector<OptionKey>& keys) {
  const auto fail = [&](std::string_view message) {
    throw UsageError(fmt::format("{}: {}", option, message));
  };
  std::vector<std::string> names;
  for (const OptionKey& key : keys) names.push_back(key.name);
  std::vector<std::string> given;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    begin = end + 1;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto known = std::ranges::find(keys, name, &OptionKey::name);
    if (known == keys.end()) fail(not_one_of(name, names));
    if (equals == std::string::npos || equals + 1 == word.size())
      fail(fmt::format("{}: a value is missing, as in {}=…", name, name));
    if (std::ranges::find(given, name) != given.end()) fail(fmt::format("{} is given twice", name));
    if (const std::string problem = known->take(word.substr(equals + 1)); !problem.empty())
      fail(fmt::format("{}: {}", name, problem));
    given.push_back(name);
  }
  return given;
}

}  // namespace ddpsim
