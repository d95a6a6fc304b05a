#include "ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim::plot {
namespace {

/// A distance between ticks: `mantissa` (1, 2 or 5) times ten to the `exponent`.
struct Step {
  int mantissa;
  int exponent;
  double size() const { return mantissa * elementary::pow(10.0, exponent); }
  int decimals() const { return std::max(0, -exponent); }
};

/// The shortest step that puts no more than `most` ticks on a length.
Step step_for(double length, int most) {
  int exponent = static_cast<int>(std::floor(elementary::log10(length / std::max(1, most))));
  for (;; ++exponent)
    for (const int mantissa : {1, 2, 5}) {
      const Step step{mantissa, exponent};
      if (std::floor(length / step.size()) + 1 <= most) return step;
    }
}

/// An end that differs from a tick only by rounding still has it.
constexpr double kRounding = 1e-9;

/// 1, 2, 3 …: every how many-th of `count` decades or doublings has a label.
int every(int count, int most) {
  return std::max(1, (count + most - 1) / std::max(1, most));
}

std::string power_label(double value, double largest) {
  return tick_label(
      value, std::max(0, static_cast<int>(-std::floor(elementary::log10(value) + 0.01))), largest);
}

}  // namespace

std::string tick_label(double value, int decimals, double largest) {
  constexpr const char* kThinSpace = "\u2009";
  constexpr std::size_t kGrouped = 5;
  constexpr double kFiveDigits = 1e4;
  constexpr std::size_t kGroup = 3;
  // Beyond these no axis of ours reaches; a plain number would fill it with zeros.
  constexpr double kLongest = 1e15;
  constexpr int kMostDecimals = 9;
  if (std::abs(value) >= kLongest || decimals > kMostDecimals) return fmt::format("{:g}", value);
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t whole = std::min(text.find('.'), text.size());
  if (whole >= kGrouped || (std::abs(largest) >= kFiveDigits && whole > kGroup))
    for (std::size_t at = whole; at > kGroup;) text.insert(at -= kGroup, kThinSpace);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !zero ? "\u2212" + text : text;
}

std::vector<Tick> round_ticks(double low, double high, int most) {
  if (!(high > low)) return {{low, fmt::format("{:g}", low)}};
  const Step step = step_for(high - low, most);
  const double size = step.size();
  std::vector<Tick> ticks;
  const auto first = std::ceil(low / size - kRounding);
  const auto last = std::floor(high / size + kRounding);
  const double largest = std::max(std::abs(first), std::abs(last)) * size;
  for (double k = first; k <= last; ++k)
    ticks.push_back({k * size, tick_label(k * size, step.decimals(), largest)});
  return ticks;
}

std::vector<Tick> decade_ticks(double low, double high, int most) {
  const int first = static_cast<int>(std::floor(elementary::log10(low) + kRounding));
  const int last = static_cast<int>(std::floor(elementary::log10(high) + kRounding));
  const auto between = [&](double value) {
    return value >= low * (1 - kRounding) && value <= high * (1 + kRounding);
  };
  std::vector<Tick> powers;
  std::vector<Tick> with_twos_and_fives;
  for (int exponent = first; exponent <= last; ++exponent)
    for (const int mantissa : {1, 2, 5}) {
      const double value = mantissa * elementary::pow(10.0, exponent);
      if (!between(value)) continue;
      if (mantissa == 1) powers.push_back({value, power_label(value, high)});
      with_twos_and_fives.push_back({value, power_label(value, high)});
    }
  constexpr std::size_t kFew = 3;
  if (powers.size() >= kFew) {
    const auto apart = static_cast<std::size_t>(every(static_cast<int>(powers.size()), most));
    for (std::size_t i = 0; i < powers.size(); ++i)
      if (i % apart != 0) powers[i].label.clear();
    return powers;
  }
  return with_twos_and_fives.size() >= kFew ? with_twos_and_fives : round_ticks(low, high, most);
}

std::vector<Tick> doubling_ticks(double low, double high, int most,
                                 const std::function<std::string(double)>& label) {
  const int first = static_cast<int>(std::ceil(elementary::log2(low) - kRounding));
  const int last = static_cast<int>(std::floor(elementary::log2(high) + kRounding));
  if (last <= first) return round_ticks(low, high, most);
  const int apart = every(last - first + 1, most);
  std::vector<Tick> ticks;
  // From a power that is a multiple itself, so that 1 is marked wherever the axis begins.
  for (int exponent = first; exponent <= last; ++exponent)
    if (exponent % apart == 0)
      ticks.push_back({elementary::exp2(exponent), label(elementary::exp2(exponent))});
  return ticks;
}

std::vector<Tick> ticks_of(const Scale& scale, int most) {
  return scale.kind() == ScaleKind::linear ? round_ticks(scale.low(), scale.high(), most)
                                           : decade_ticks(scale.low(), scale.high(), most);
}

Scale to_round_ends(const Scale& scale, int most) {
  if (scale.kind() == ScaleKind::logarithmic) return scale;
  const double size = step_for(scale.high() - scale.low(), most).size();
  return {scale.kind(), std::floor(scale.low() / size + kRounding) * size,
          std::ceil(scale.high() / size - kRounding) * size};
}

}  // namespace ddpsim::plot
