// A value's place along an axis, and what an axis has to reach.
#pragma once

#include <optional>
#include <utility>

namespace ddpsim::plot {

/// Equal steps of a linear axis are equal differences, of a logarithmic one equal ratios.
enum class ScaleKind { linear, logarithmic };

/// The least and the greatest of what is to be drawn. What has no place on the axis does not move it: infinities,
/// NaN, and on a logarithmic one what is not above 0.
class Extent {
 public:
  explicit Extent(ScaleKind kind) : kind_(kind) {}
  void add(double value);
  std::optional<std::pair<double, double>> ends() const { return ends_; }

 private:
  ScaleKind kind_;
  std::optional<std::pair<double, double>> ends_;
};

class Scale {
 public:
  /// From the least to the greatest; where both are one value, a little around it; where there is none, 0 to 1 (1 to 10).
  Scale(ScaleKind kind, const Extent& extent);
  /// low < high; on a logarithmic axis 0 < low.
  Scale(ScaleKind kind, double low, double high);

  ScaleKind kind() const { return kind_; }
  double low() const { return low_; }
  double high() const { return high_; }
  /// Whether the value has a place on this axis at all.
  bool draws(double value) const;
  /// … and lies between its ends.
  bool covers(double value) const;
  /// 0 at the low end, 1 at the high one; beyond them no farther than one more length. Of what `draws` alone.
  double share(double value) const;
  /// The other way round.
  double value_at(double share) const;
  /// The same axis, longer by these shares of its length.
  Scale widened(double below, double above) const;

 private:
  ScaleKind kind_;
  double low_;
  double high_;
};

}  // namespace ddpsim::plot
