// A value's place along an axis, and the range of an axis.
#pragma once

#include <optional>
#include <utility>

namespace ddpsim::plot {

/// Equal steps of a linear axis are equal differences, of a logarithmic one equal ratios.
enum class ScaleKind { linear, logarithmic };

/// The least and the greatest value to be drawn. Values without a place on the axis are ignored: infinities, NaN, and on a
/// logarithmic axis values that are not above 0.
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
  /// From the least to the greatest value; a little around a single value. Without any value: 0 to 1, or 1 to 10 on a
  /// logarithmic axis.
  Scale(ScaleKind kind, const Extent& extent);
  /// low < high; on a logarithmic axis 0 < low.
  Scale(ScaleKind kind, double low, double high);

  ScaleKind kind() const { return kind_; }
  double low() const { return low_; }
  double high() const { return high_; }
  /// Whether the value has a place on this axis at all.
  bool draws(double value) const;
  /// Whether the value lies between both ends.
  bool covers(double value) const;
  /// 0 at the low end, 1 at the high end, at most one more length beyond them. Precondition: `draws(value)`.
  double share(double value) const;
  /// The inverse of `share`.
  double value_at(double share) const;
  /// This axis, made longer at its low and its high end by these shares of its length.
  Scale widened(double below, double above) const;

 private:
  ScaleKind kind_;
  double low_;
  double high_;
};

}  // namespace ddpsim::plot
