#include "curve_selection.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace ddpsim {
namespace {

constexpr std::array kRoundCaps = {25.0, 50.0, 100.0, 10.0, 1.0, 5.0, 200.0};  // best known first

bool covers(const CurvePoint& point, double cap) {
  return point.bucket_cap_mb && point.cap_range_mb.first <= cap && cap <= point.cap_range_mb.second;
}

class Selection {
 public:
  Selection(const std::vector<CurvePoint>& curve, std::size_t most) : curve_(curve), most_(most) {}

  /// Adds the first settable point that is `wanted`, while there is room.
  template <class Wanted>
  void add_first(const Wanted& wanted) {
    for (std::size_t i = 0; i < curve_.size(); ++i) {
      if (curve_[i].reachable && wanted(curve_[i])) return add(i);
    }
  }

  void add(std::size_t index) {
    const bool known = std::find(chosen_.begin(), chosen_.end(), index) != chosen_.end();
    if (!known && chosen_.size() < most_) chosen_.push_back(index);
  }

  std::vector<std::size_t> by_cap() && {
    const auto cap = [this](std::size_t i) { return curve_[i].bucket_cap_mb.value_or(0); };
    std::sort(chosen_.begin(), chosen_.end(), [&](std::size_t a, std::size_t b) {
      return cap(a) != cap(b) ? cap(a) < cap(b) : a < b;
    });
    return std::move(chosen_);
  }

 private:
  const std::vector<CurvePoint>& curve_;
  std::size_t most_;
  std::vector<std::size_t> chosen_;
};

}  // namespace

bool same_setting(const CurvePoint& a, const CurvePoint& b) {
  return a.bucket_cap_mb == b.bucket_cap_mb && a.first_bucket_mb == b.first_bucket_mb;
}

bool first_set_apart(const CurvePoint& point, const TuneResult& result) {
  return point.first_bucket_mb && point.first_bucket_mb != point.bucket_cap_mb &&
         point.first_bucket_mb != result.default_setting.first_bucket_mb;
}

bool is_current(const CurvePoint& point, const TuneResult& result) {
  if (!result.current) return false;
  const CurvePoint& current = result.current->point;
  if (result.current->recorded) return same_setting(point, current);
  return (current.bucket_cap_mb ? covers(point, *current.bucket_cap_mb) : !point.bucket_cap_mb) &&
         point.iteration == current.iteration && point.buckets == current.buckets;
}

namespace {

/// Whether this setting gives the point's buckets. Without both numbers it is PyTorch's default.
bool gives(std::optional<double> cap_mb, std::optional<double> first_mb, const CurvePoint& point,
           const TuneResult& result) {
  if (!point.reachable) return false;
  if (first_mb ? point.first_bucket_mb != first_mb : first_set_apart(point, result)) return false;
  return cap_mb ? covers(point, *cap_mb) : !point.bucket_cap_mb.has_value();
}

}  // namespace

bool is_recommended(const CurvePoint& point, const TuneResult& result) {
  const Recommendation& recommended = result.recommended;
  return recommended.set &&
         gives(recommended.bucket_cap_mb, recommended.first_bucket_mb, point, result);
}

bool is_to_measure(const CurvePoint& point, const TuneResult& result) {
  const std::optional<MeasureFirst>& first = result.recommended.measure_first;
  return first && gives(first->bucket_cap_mb, first->first_bucket_mb, point, result);
}

std::optional<double> shown_cap(const CurvePoint& point, const TuneResult& result) {
  if (!point.bucket_cap_mb) return std::nullopt;
  if (result.only_caps_asked) return point.bucket_cap_mb;
  if (result.recommended.bucket_cap_mb && is_recommended(point, result)) {
    return result.recommended.bucket_cap_mb;
  }
  if (is_to_measure(point, result)) return result.recommended.measure_first->bucket_cap_mb;
  const auto round = std::find_if(kRoundCaps.begin(), kRoundCaps.end(),
                                  [&](double cap) { return covers(point, cap); });
  return round == kRoundCaps.end() ? point.bucket_cap_mb : *round;
}

std::vector<std::size_t> representative_points(const TuneResult& result, std::size_t most) {
  const auto& curve = result.curve;
  // A cap that the user asked for is always shown.
  if (result.only_caps_asked) {
    std::vector<std::size_t> all(curve.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  Selection selection(curve, most);
  selection.add_first([&](const CurvePoint& p) { return same_setting(p, result.default_setting); });
  selection.add_first([&](const CurvePoint& p) { return is_current(p, result); });
  // The fastest cap, such as 8.2299, is of no use if its gain cannot be measured.
  if (result.baseline().iteration - result.best.iteration >= result.recommended.measurable)
    selection.add_first([&](const CurvePoint& p) { return same_setting(p, result.best); });
  selection.add_first([&](const CurvePoint& p) { return is_recommended(p, result); });
  selection.add_first([&](const CurvePoint& p) { return is_to_measure(p, result); });
  for (const double cap : kRoundCaps) {
    selection.add_first(
        [&](const CurvePoint& p) { return covers(p, cap) && !first_set_apart(p, result); });
  }
  std::vector<std::size_t> ordinary;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const CurvePoint& point = curve[i];
    if (point.reachable && point.bucket_cap_mb && !first_set_apart(point, result)) {
      ordinary.push_back(i);
    }
  }
  if (ordinary.empty()) return std::move(selection).by_cap();
  selection.add(ordinary.front());
  selection.add(ordinary.back());
  // The remaining rows are spread evenly over the rest of the curve.
  constexpr std::size_t kBetween = 5;
  for (std::size_t k = 1; k < kBetween; ++k) {
    selection.add(ordinary[k * (ordinary.size() - 1) / kBetween]);
  }
  return std::move(selection).by_cap();
}

}  // namespace ddpsim
