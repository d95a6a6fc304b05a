// The curve over caps around one of its points: how far its plateau reaches, and where the cliffs
// are.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "bucketing_search.hpp"

namespace ddpsim {

class CapCurve {
 public:
  /// `cap_is_first_limit`: passing a cap also sets the first limit. In versions where it does not,
  /// the two limits are separate even if they are equal.
  CapCurve(const std::vector<Bucketing>& points, bool cap_is_first_limit)
      : points_(points), cap_is_first_limit_(cap_is_first_limit) {}

  const CurvePoint& operator[](std::size_t i) const { return points_[i].point; }

  /// The range of caps around `index`, without a gap and with both ends included, whose steps lie
  /// within [fastest, slowest]. The step of `index` itself does not matter.
  std::pair<std::size_t, std::size_t> within(std::size_t index, Duration fastest,
                                             Duration slowest) const;

  /// The nearest caps on either side whose steps are longer by more than `slack`.
  NextWorse next_worse(std::size_t index, Duration slack) const;

  /// The largest cap of a point. If its caps are open upwards, twice the smallest, as far as
  /// anybody would go.
  double end(std::size_t index) const;

  /// How wide people see a range of caps: the ratio of its ends, with 1 MiB added to both, because
  /// below that caps differ little.
  double width(std::size_t low, std::size_t high) const;

 private:
  bool same_family(std::size_t a, std::size_t b) const;
  std::optional<std::size_t> below(std::size_t index) const;
  std::optional<std::size_t> above(std::size_t index) const;

  const std::vector<Bucketing>& points_;
  bool cap_is_first_limit_;
};

}  // namespace ddpsim
