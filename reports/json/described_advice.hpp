// Describes advice, a part of several documents.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/tune/advise.hpp"

namespace ddpsim {

/// A predicted value and its interval as printed. The key of the object names the unit.
struct ShownInterval {
  NumberToken value;
  NumberToken low;
  NumberToken high;
};
/// In microseconds.
ShownInterval shown_interval(const Gain& gain);
const Described<ShownInterval>& described_interval();

const Described<AdviceRow>& described_advice_row();

/// What `tune` recommends.
struct ShownRecommendation {
  const Recommendation& recommended;
  /// Why no cap can be recommended; empty if one can.
  std::string_view no_cap_because = {};
};
const Described<ShownRecommendation>& described_recommendation();

/// Reads a range as an array of its two ends.
template <typename T>
auto ends_of(std::pair<double, double> T::*range) {
  return [range](const T& of) { return std::array{(of.*range).first, (of.*range).second}; };
}

}  // namespace ddpsim
