#include "searched_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostPlaces = 1'000'000;
constexpr int kMostDecimals = 6;

std::optional<int> decimals_of(std::string_view number) {
  if (number.empty() || number.find_first_not_of("0123456789.") != number.npos) return std::nullopt;
  const std::size_t point = number.find('.');
  if (point == number.npos) return 0;
  const std::size_t digits = number.size() - point - 1;
  if (digits == 0 || digits > kMostDecimals || number.find('.', point + 1) != number.npos)
    return std::nullopt;
  return static_cast<int>(digits);
}

/// Parses the text between brackets; returns nothing unless it is a range of two numbers.
std::optional<SearchedRange> range_of(std::string_view inside) {
  const std::size_t dots = inside.find("..");
  if (dots == inside.npos) return std::nullopt;
  const std::string_view from = inside.substr(0, dots);
  const std::string_view to = inside.substr(dots + 2);
  const auto decimals = std::pair(decimals_of(from), decimals_of(to));
  const auto low = parse_number<double>(from);
  const auto high = parse_number<double>(to);
  if (!decimals.first || !decimals.second || !low || !high) return std::nullopt;
  SearchedRange range{.text = fmt::format("[{}]", inside),
                      .decimals = std::max(*decimals.first, *decimals.second)};
  const double unit = elementary::pow(10, range.decimals);
  constexpr double kMost = 1e12;
  if (*low >= *high || *high * unit > kMost)
    throw UsageError(range.text, "expected two numbers, the larger one last, such as [1..64]");
  range.low = std::llround(*low * unit);
  range.high = std::llround(*high * unit);
  if (range.places() > kMostPlaces)
    throw UsageError(range.text, fmt::format("this range has more than {} values", kMostPlaces),
                     "Use fewer decimals, or a shorter range");
  return range;
}

}  // namespace

std::string SearchedRange::value(std::size_t place) const {
  return fmt::format("{:.{}f}", number(place), decimals);
}

double SearchedRange::number(std::size_t place) const {
  return static_cast<double>(low + static_cast<std::int64_t>(place)) /
         elementary::pow(10, decimals);
}

std::string SearchedRange::put_into(std::string words, const std::string& value) const {
  for (std::size_t at = words.find(text); at != words.npos; at = words.find(text, at))
    words.replace(at, text.size(), value);
  return words;
}

std::vector<std::string> SearchedRange::put_into(std::vector<std::string> words,
                                                 const std::string& value) const {
  for (std::string& word : words) word = put_into(std::move(word), value);
  return words;
}

std::vector<CandidateRequest> SearchedRange::put_into(std::vector<CandidateRequest> requests,
                                                      const std::string& clusters,
                                                      const std::string& prices) const {
  for (CandidateRequest& request : requests) {
    request.cluster = put_into(std::move(request.cluster), clusters);
    if (request.price) request.price = put_into(std::move(*request.price), prices);
  }
  return requests;
}

std::vector<std::size_t> SearchedRange::first_places() const {
  constexpr std::size_t kFirst = 33;
  constexpr std::int64_t kSeveralTimes = 4;
  const std::size_t last = places() - 1;
  std::vector<std::size_t> first;
  if (last < kFirst) {
    for (std::size_t place = 0; place <= last; ++place) first.push_back(place);
    return first;
  }
  const bool by_ratio = low > 0 && high / low >= kSeveralTimes;
  for (std::size_t k = 0; k < kFirst; ++k) {
    const double share = static_cast<double>(k) / (kFirst - 1);
    const auto from = static_cast<double>(low);
    const auto to = static_cast<double>(high);
    const double value = by_ratio ? from * elementary::pow(to / from, share) - from
                                  : share * static_cast<double>(last);
    const auto place = std::min(last, static_cast<std::size_t>(std::llround(value)));
    if (first.empty() || first.back() < place) first.push_back(place);
  }
  return first;
}

std::optional<SearchedRange> searched_range(const std::vector<std::string>& words) {
  std::optional<SearchedRange> found;
  for (const std::string& word : words) {
    for (std::size_t at = word.find('['); at != word.npos; at = word.find('[', at + 1)) {
      const std::size_t end = word.find(']', at);
      if (end == word.npos) break;
      const auto range = range_of(std::string_view(word).substr(at + 1, end - at - 1));
      if (!range) continue;
      if (found && found->text != range->text)
        throw UsageError("",
                         fmt::format("{} and {}: only one range can be searched at a time",
                                     found->text, range->text),
                         "Write out the other one, such as {1,2,4}");
      found = range;
    }
  }
  return found;
}

}  // namespace ddpsim
