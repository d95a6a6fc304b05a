// Caps as people type them that gain what can be measured, and which of them to recommend first.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "candidates.hpp"
#include "gain.hpp"

namespace ddpsim {

/// A setting that might be recommended: a point of the curve, what to write, what it gains.
struct CapChoice {
  std::size_t index = 0;
  std::optional<double> cap;
  std::optional<double> first;
  WeighedGain gain;
};

class CapChoices {
 public:
  /// Gains are counted from `baseline`; `standard` is the default's point. All must outlive it.
  CapChoices(const Gains& gains, const TuneOptions& tuning, const CurvePoint& standard,
             const CurvePoint& baseline, Duration measurable);

  /// What people type and gains what can be measured, weighed.
  std::vector<CapChoice> gaining(Candidates& candidates) const;
  /// Of those that are worth it. First the caps in a row whose expected gains cannot be told from the greatest, from the middle
  /// of the row outwards: that is far from every cliff. Then the others, the most expected first; a few of all.
  std::vector<CapChoice> in_order_of_preference(const Candidates& candidates,
                                                std::vector<CapChoice> settings) const;
  /// Of caps that people type and that give the same buckets the one nearest to PyTorch's default.
  std::optional<double> least_unusual(const Candidates& candidates, const CapChoice& setting) const;
  WeighedGain gain(const Candidates& candidates, std::size_t i) const;

 private:
  bool is_default(const CurvePoint& point) const;
  bool is_simple(const CurvePoint& point) const;
  std::vector<CapChoice> typed(const Bucketing& bucketing, std::size_t index) const;
  Duration mean_gain(const CurvePoint& point) const;
  bool gains_enough(const Candidates& candidates, std::size_t i) const;

  const Gains& gains_;
  const TuneOptions& tuning_;
  const CurvePoint& standard_;
  const CurvePoint& baseline_;
  const Duration measurable_;
  const std::span<const double> typed_;
  /// A cap that is passed says what the first limit is; before, the two are apart even where they
  /// are as large.
  const bool cap_is_first_limit_;
};

/// The setting whose gain is the largest at least.
const CapChoice& surest(const std::vector<CapChoice>& settings);

}  // namespace ddpsim
