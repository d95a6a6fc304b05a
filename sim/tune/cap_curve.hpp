// The curve over caps around one of its points: how far its plateau reaches, and where the cliffs are.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "bucketing_search.hpp"

namespace ddpsim {

class CapCurve {
 public:
  /// `cap_is_first_limit`: a cap that is passed says what the first limit is; before PyTorch does so, the two are apart
  /// even where they are as large.
  CapCurve(const std::vector<Bucketing>& points, bool cap_is_first_limit)
      : points_(points), cap_is_first_limit_(cap_is_first_limit) {}

  const CurvePoint& operator[](std::size_t i) const { return points_[i].point; }

  /// Both ends included: caps beside `index`, without a gap, whose steps lie within [fastest, slowest]. What that
  /// point's own step is does not matter.
  std::pair<std::size_t, std::size_t> within(std::size_t index, Duration fastest,
                                             Duration slowest) const;

  /// The caps nearest to it, without a gap between, whose steps are longer by more than `slack`.
  NextWorse next_worse(std::size_t index, Duration slack) const;

  /// The largest cap of a point; where caps are open upwards, twice the smallest, as far as anybody would go.
  double end(std::size_t index) const;

  /// Of a range of caps, as people choose them: how many times the low end its high end is, with a MiB added to
  /// both, since below that caps differ little.
  double width(std::size_t low, std::size_t high) const;

 private:
  bool same_family(std::size_t a, std::size_t b) const;
  std::optional<std::size_t> below(std::size_t index) const;
  std::optional<std::size_t> above(std::size_t index) const;

  const std::vector<Bucketing>& points_;
  bool cap_is_first_limit_;
};

}  // namespace ddpsim
