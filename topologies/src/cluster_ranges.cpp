#include "ddpsim/topologies/cluster_ranges.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostClusters = 10'000;

[[noreturn]] void fail_in_range(const std::string& text, const std::string& problem) {
  throw InputError(
      {.file = "command line",
       .where = "",
       .message = fmt::format("{}: {}", in_quotes(text), problem),
       .hint = fmt::format("Expected items such as {{1,2,4}} or {{1..16*2}}, in a name's size also "
                           "dgxa100@1..16*2: whole numbers from 1 to {}, at most {} clusters",
                           kMostNodes, kMostClusters)});
}

bool is_file(const std::string& text) {
  std::error_code error;
  return std::filesystem::is_regular_file(text, error);
}

/// Writes "NAME@1..16*2" with its sizes in braces, like every other range.
std::string with_braces(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == text.npos) return text;
  const std::string_view sizes = std::string_view(text).substr(at + 1);
  if (sizes.find("..") == sizes.npos || sizes.find_first_of("/\\ {}[]") != sizes.npos) return text;
  return fmt::format("{}{{{}}}", text.substr(0, at + 1), sizes);
}

/// Expands "LOW..HIGH*FACTOR" or "LOW..HIGH".
std::vector<std::string> counted_out(const std::string& text, std::string_view range) {
  const std::size_t dots = range.find("..");
  const std::string_view upper = range.substr(dots + 2);
  const std::size_t star = upper.find('*');
  const auto low = parse_number<std::int64_t>(range.substr(0, dots));
  const auto high = parse_number<std::int64_t>(upper.substr(0, star));
  const auto factor = star == upper.npos ? std::optional<std::int64_t>(1)
                                         : parse_number<std::int64_t>(upper.substr(star + 1));
  if (!low || !high || !factor) fail_in_range(text, "not a range of whole numbers");
  if (*low < 1 || *high > kMostNodes) fail_in_range(text, "numbers out of range");
  if (*low > *high) fail_in_range(text, "the range ends below its start");
  if (star != upper.npos && (*factor < 2 || *factor > kMostNodes))
    fail_in_range(text, "the factor must be 2 or more");
  std::vector<std::string> values;
  for (std::int64_t value = *low; value <= *high;
       value = star == upper.npos ? value + 1 : value * *factor) {
    if (values.size() == kMostClusters) fail_in_range(text, "too many clusters");
    values.push_back(std::to_string(value));
  }
  return values;
}

std::vector<std::string> items_of(const std::string& text, std::string_view braces) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t comma = braces.find(',');
    const std::string_view item = braces.substr(0, comma);
    if (item.empty()) fail_in_range(text, "an item between braces is empty");
    if (item.find("..") == item.npos)
      items.emplace_back(item);
    else
      for (std::string& value : counted_out(text, item)) items.push_back(std::move(value));
    if (comma == braces.npos) return items;
    braces.remove_prefix(comma + 1);
  }
}

/// One word of a text, with its ranges expanded.
std::vector<std::string> written_out(const std::string& text, std::string_view word) {
  std::vector<std::string> all(1);
  while (true) {
    const std::size_t brace = word.find_first_of("{}");
    for (std::string& one : all) one += word.substr(0, brace);
    if (brace == word.npos) return all;
    const std::size_t end = word.find_first_of("{}", brace + 1);
    if (word[brace] != '{' || end == word.npos || word[end] != '}')
      fail_in_range(text, "braces do not match");
    const std::vector<std::string> items = items_of(text, word.substr(brace + 1, end - brace - 1));
    if (items.size() > kMostClusters / all.size()) fail_in_range(text, "too many clusters");
    std::vector<std::string> longer;
    for (const std::string& one : all)
      for (const std::string& item : items) longer.push_back(one + item);
    all = std::move(longer);
    word.remove_prefix(end + 1);
  }
}

/// The label of a word with a range: the whole word, or only the size after a name.
std::string varied(const std::string& word) {
  const std::size_t at = word.rfind('@');
  return at == word.npos ? ' ' + word : word.substr(at);
}

}  // namespace

std::vector<ClusterOfRange> cluster_ranges(const std::string& text) {
  if (is_file(text)) return {{text}};
  const std::string typed = with_braces(text);
  std::vector<ClusterOfRange> clusters(1);
  std::string_view rest = typed;
  while (!rest.empty()) {
    const std::size_t blank = rest.find(' ');
    const std::string_view word = rest.substr(0, blank);
    const std::vector<std::string> words = written_out(text, word);
    const bool ranges = word.find('{') != word.npos;
    if (words.size() > kMostClusters / clusters.size()) fail_in_range(text, "too many clusters");
    std::vector<ClusterOfRange> longer;
    for (const ClusterOfRange& cluster : clusters)
      for (const std::string& one : words) {
        longer.push_back(cluster);
        longer.back().text += one;
        if (ranges) longer.back().varied += varied(one);
        if (blank != rest.npos) longer.back().text += ' ';
      }
    clusters = std::move(longer);
    rest.remove_prefix(blank == rest.npos ? rest.size() : blank + 1);
  }
  return clusters;
}

}  // namespace ddpsim
