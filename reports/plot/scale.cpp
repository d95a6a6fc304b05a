#include "scale.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim::plot {
namespace {

bool has_place(ScaleKind kind, double value) {
  return std::isfinite(value) && (kind == ScaleKind::linear || value > 0);
}

/// Range around a single value, to either side.
constexpr double kAroundShare = 0.1;
constexpr double kAroundFactor = 2;

/// Whether the ends differ only by rounding.
bool is_one_value(double low, double high) {
  constexpr double kRounding = 1e-12;
  return high - low <= kRounding * std::max(std::abs(low), std::abs(high));
}

std::pair<double, double> ends_of(ScaleKind kind, const Extent& extent) {
  if (!extent.ends()) return kind == ScaleKind::linear ? std::pair(0.0, 1.0) : std::pair(1.0, 10.0);
  const auto [low, high] = *extent.ends();
  if (!is_one_value(low, high)) return {low, high};
  if (kind == ScaleKind::logarithmic) return {low / kAroundFactor, high * kAroundFactor};
  if (low == 0) return {0, 1};
  const double around = kAroundShare * std::abs(low);
  return {low - around, high + around};
}

}  // namespace

void Extent::add(double value) {
  if (!has_place(kind_, value)) return;
  if (!ends_) ends_ = {value, value};
  ends_->first = std::min(ends_->first, value);
  ends_->second = std::max(ends_->second, value);
}

Scale::Scale(ScaleKind kind, const Extent& extent) : kind_(kind) {
  std::tie(low_, high_) = ends_of(kind, extent);
}

Scale::Scale(ScaleKind kind, double low, double high) : kind_(kind), low_(low), high_(high) {}

bool Scale::draws(double value) const {
  return has_place(kind_, value);
}

bool Scale::covers(double value) const {
  // Share of the length by which a value on an end may miss it.
  constexpr double kRounding = 1e-9;
  if (!draws(value)) return false;
  const double place = share(value);
  return place >= -kRounding && place <= 1 + kRounding;
}

double Scale::share(double value) const {
  const double place = kind_ == ScaleKind::linear
                           ? (value - low_) / (high_ - low_)
                           : elementary::log(value / low_) / elementary::log(high_ / low_);
  return std::clamp(place, -1.0, 2.0);
}

double Scale::value_at(double share) const {
  if (kind_ == ScaleKind::linear) return low_ + share * (high_ - low_);
  return low_ * elementary::pow(high_ / low_, share);
}

Scale Scale::widened(double below, double above) const {
  return {kind_, value_at(-below), value_at(1 + above)};
}

}  // namespace ddpsim::plot
