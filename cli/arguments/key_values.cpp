#include "key_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"

namespace ddpsim {

std::vector<std::pair<std::string, std::string>> key_values(const std::string& option,
                                                            const std::string& text,
                                                            const std::vector<std::string>& known) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string_view word : words_of(text)) {
    const std::size_t colon = word.find(':');
    const std::string key(word.substr(0, colon));
    if (std::ranges::find(known, key) == known.end())
      throw UsageError(fmt::format("{}: {}", option, not_one_of(key, known)));
    for (const auto& [given, value] : result)
      if (given == key) throw UsageError(fmt::format("{}: {} is given twice", option, key));
    result.emplace_back(key,
                        colon == std::string_view::npos ? "" : std::string(word.substr(colon + 1)));
  }
  if (result.empty())
    throw UsageError(fmt::format("{}: nothing is given; expected KEY:VALUE of {}", option,
                                 fmt::join(known, ", ")));
  return result;
}

}  // namespace ddpsim
