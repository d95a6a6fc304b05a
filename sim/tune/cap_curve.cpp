#include "cap_curve.hpp"

namespace ddpsim {
namespace {

constexpr double kByteMb = 1.0 / 1048576;

bool adjoin(const CurvePoint& lower, const CurvePoint& upper) {
  return upper.cap_range_mb.first <= lower.cap_range_mb.second + kByteMb;
}

}  // namespace

bool CapCurve::same_family(std::size_t a, std::size_t b) const {
  const CurvePoint& one = points_[a].point;
  const CurvePoint& other = points_[b].point;
  return one.reachable == other.reachable &&
         one.bucket_cap_mb.has_value() == other.bucket_cap_mb.has_value() &&
         (!one.bucket_cap_mb || cap_is_first_limit_ ||
          one.first_bucket_mb == other.first_bucket_mb);
}

std::optional<std::size_t> CapCurve::below(std::size_t index) const {
  if (index == 0 || !same_family(index - 1, index) ||
      !adjoin(points_[index - 1].point, points_[index].point))
    return std::nullopt;
  return index - 1;
}

std::optional<std::size_t> CapCurve::above(std::size_t index) const {
  if (index + 1 == points_.size() || below(index + 1) != index) return std::nullopt;
  return index + 1;
}

std::pair<std::size_t, std::size_t> CapCurve::within(std::size_t index, Duration fastest,
                                                     Duration slowest) const {
  const auto belongs = [&](std::optional<std::size_t> i) {
    return i && points_[*i].point.iteration >= fastest && points_[*i].point.iteration <= slowest;
  };
  std::size_t low = index;
  std::size_t high = index;
  while (belongs(below(low))) --low;
  while (belongs(above(high))) ++high;
  return {low, high};
}

NextWorse CapCurve::next_worse(std::size_t index, Duration slack) const {
  const Duration step = points_[index].point.iteration;
  const auto [low, high] = within(index, Duration(), step + slack);
  NextWorse worse;
  if (const std::optional<std::size_t> i = below(low))
    worse.below = {points_[*i].point.cap_range_mb.second, points_[*i].point.iteration - step};
  if (const std::optional<std::size_t> i = above(high))
    worse.above = {points_[*i].point.cap_range_mb.first, points_[*i].point.iteration - step};
  return worse;
}

double CapCurve::end(std::size_t index) const {
  const auto [from, to] = points_[index].point.cap_range_mb;
  return to == kNoLimitMb ? 2 * from : to;
}

double CapCurve::width(std::size_t low, std::size_t high) const {
  return (end(high) + 1) / (points_[low].point.cap_range_mb.first + 1);
}

}  // namespace ddpsim
