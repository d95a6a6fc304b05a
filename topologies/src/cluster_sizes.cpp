#include "ddpsim/topologies/cluster_sizes.hpp"
#include "ddpsim/formats/number.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "description.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostSizes = 1000;

[[noreturn]] void fail_in_sizes(const std::string& text, const std::string& problem) {
  throw InputError(
      {.file = "command line",
       .where = "",
       .message = fmt::format("{}: {}", in_quotes(text), problem),
       .hint =
           fmt::format("Expected NAME@LOW..HIGH*FACTOR such as dgxa100@1..16*2, or NAME@LOW..HIGH, "
                       "with 1 to {} nodes",
                       kMostNodes)});
}

}  // namespace

std::vector<std::string> cluster_sizes(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == text.npos) return {text};
  const std::string_view sizes = std::string_view(text).substr(at + 1);
  const std::size_t dots = sizes.find("..");
  std::error_code error;
  const bool range = dots != sizes.npos && sizes.find_first_of("/\\ ") == sizes.npos;
  if (!range || std::filesystem::is_regular_file(text, error)) return {text};

  const std::string_view upper = sizes.substr(dots + 2);
  const std::size_t star = upper.find('*');
  const auto low = parse_number<int>(sizes.substr(0, dots));
  const auto high = parse_number<int>(upper.substr(0, star));
  const auto factor =
      star == upper.npos ? std::optional<int>(1) : parse_number<int>(upper.substr(star + 1));
  if (!low || !high || !factor) fail_in_sizes(text, "not a range of node counts");
  if (*low < 1 || *high > kMostNodes) fail_in_sizes(text, "node counts out of range");
  if (*low > *high) fail_in_sizes(text, "the range ends below its start");
  if (star != upper.npos && *factor < 2) fail_in_sizes(text, "the factor must be 2 or more");

  std::vector<std::string> texts;
  for (std::int64_t nodes = *low; nodes <= *high;
       nodes = star == upper.npos ? nodes + 1 : nodes * *factor) {
    if (texts.size() == kMostSizes)
      fail_in_sizes(text, fmt::format("more than {} sizes", kMostSizes));
    texts.push_back(fmt::format("{}@{}", text.substr(0, at), nodes));
  }
  return texts;
}

}  // namespace ddpsim
