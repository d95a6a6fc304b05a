// Caps that people type and that gain a measurable amount, and which of them to recommend first.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "candidates.hpp"
#include "gain.hpp"

namespace ddpsim {

/// A setting that might be recommended: a point of the curve, what to write, and what it gains.
struct CapChoice {
  std::size_t index = 0;
  std::optional<double> cap;
  std::optional<double> first;
  WeighedGain gain;
};

class CapChoices {
 public:
  /// Gains are counted from `baseline`; `standard` is the point of PyTorch's default. All arguments
  /// must outlive this object.
  CapChoices(const Gains& gains, const TuneOptions& tuning, const CurvePoint& standard,
             const CurvePoint& baseline, Duration measurable);

  /// Settings that people type and that gain a measurable amount, weighed.
  std::vector<CapChoice> gaining(Candidates& candidates) const;
  /// Orders the settings that are worth it, and keeps a few. First come neighbouring caps whose
  /// expected gains cannot be told from the greatest, from the middle outwards, which is far from
  /// every cliff. The others follow by expected gain, greatest first.
  std::vector<CapChoice> in_order_of_preference(const Candidates& candidates,
                                                std::vector<CapChoice> settings) const;
  /// Among caps that give the same buckets as `setting`, the cap nearest to PyTorch's default. Only
  /// caps that people would type (short numbers) count.
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
  /// Whether passing a cap also sets the first limit. In versions where it does not, the two limits
  /// are separate even if they are equal.
  const bool cap_is_first_limit_;
};

/// The setting whose gain has the greatest lower bound.
const CapChoice& surest(const std::vector<CapChoice>& settings);

}  // namespace ddpsim
