#include "step_series.hpp"

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

/// With fewer values it cannot be told whether they are steady.
constexpr std::size_t kFewestOfKind = 3;
/// If fewer than one in this many values are of the other kind, they hardly move the median.
constexpr std::size_t kShareOfKind = 8;
/// This many steps are no warm-up, however long the run is.
constexpr std::size_t kNoWarmUp = 10;
/// Kinds that lie closer are variation of one machine under one setting.
constexpr double kFarApart = 1.25;

/// Whether most values lie near their median, compared with the distance to the other kind.
bool is_steady(const std::vector<double>& values, double middle, double distance) {
  constexpr double kNear = 0.25;
  constexpr double kMost = 0.6;
  const auto near = static_cast<std::size_t>(std::ranges::count_if(
      values, [&](double value) { return std::abs(value - middle) <= kNear * distance; }));
  return near >= kFewestOfKind &&
         static_cast<double>(near) >= kMost * static_cast<double>(values.size());
}

std::optional<TwoKindsOfSteps> apart(const std::vector<double>& first,
                                     const std::vector<double>& other) {
  if (first.size() < kFewestOfKind || other.size() < kFewestOfKind) return std::nullopt;
  const TwoKindsOfSteps kinds{first.size(), other.size(), median(first), median(other)};
  const double distance = std::abs(kinds.first_s - kinds.other_s);
  const bool far =
      std::max(kinds.first_s, kinds.other_s) >= kFarApart * std::min(kinds.first_s, kinds.other_s);
  if (!far || !is_steady(first, kinds.first_s, distance) ||
      !is_steady(other, kinds.other_s, distance))
    return std::nullopt;
  return kinds;
}

/// Whether the values from `begin` to `end` ascend one by one, or lie on a line.
bool rises(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  constexpr double kGrown = 1.5;
  constexpr double kAlong = 0.15;
  const double first = values[begin];
  const double range = values[end - 1] - first;
  if (!(values[end - 1] >= kGrown * first)) return false;
  bool each = true;
  bool along = true;
  for (std::size_t i = begin + 1; i < end; ++i) {
    each = each && values[i] > values[i - 1];
    const double line =
        first + range * static_cast<double>(i - begin) / static_cast<double>(end - begin - 1);
    along = along && std::abs(values[i] - line) <= kAlong * range;
  }
  return each || (along && end - begin >= 2 * kFewestOfKind);
}

}  // namespace

std::optional<TwoKindsOfSteps> two_kinds_of_steps(const std::vector<double>& seconds) {
  const std::size_t count = seconds.size();
  const std::size_t fewest = std::max(kFewestOfKind, count / kShareOfKind);
  if (count < 2 * fewest) return std::nullopt;
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  std::size_t cut = fewest;
  for (std::size_t i = fewest; i <= count - fewest; ++i)
    if (sorted[i] * sorted[cut - 1] > sorted[cut] * sorted[i - 1]) cut = i;
  const bool first_is_low = seconds.front() < sorted[cut];
  std::vector<double> first, other;
  std::size_t first_runs = 0;
  std::size_t other_runs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_first = (seconds[i] < sorted[cut]) == first_is_low;
    const bool goes_on = i > 0 && (seconds[i] < sorted[cut]) == (seconds[i - 1] < sorted[cut]);
    (is_first ? first_runs : other_runs) += goes_on ? 0 : 1;
    (is_first ? first : other).push_back(seconds[i]);
  }
  const bool in_blocks =
      first.size() >= kFewestOfKind * first_runs && other.size() >= kFewestOfKind * other_runs;
  if (!in_blocks) return std::nullopt;
  auto kinds = apart(first, other);
  if (kinds) kinds->in_turn = first_runs > 1;
  return kinds;
}

std::optional<TwoKindsOfSteps> two_kinds_of_steps(const std::vector<double>& seconds,
                                                  std::size_t front) {
  if (front < kNoWarmUp && front * kShareOfKind < seconds.size()) return std::nullopt;
  const auto end = seconds.begin() + static_cast<std::ptrdiff_t>(front);
  return apart({seconds.begin(), end}, {end, seconds.end()});
}

bool grows_as_elapsed(const std::vector<double>& values) {
  constexpr double kResumed = 0.7;
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin + 1;
    while (end < values.size() && values[end] > kResumed * values[end - 1]) ++end;
    if (end - begin > 1 && !rises(values, begin, end)) return false;
    longest = std::max(longest, end - begin);
    begin = end;
  }
  return longest >= kFewestOfKind || (longest == 2 && values.size() == 2);
}

}  // namespace ddpsim
