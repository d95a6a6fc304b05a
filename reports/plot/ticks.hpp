// Where an axis is marked, and what is written there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scale.hpp"

namespace ddpsim::plot {

/// On an axis; more would not be read.
inline constexpr int kMostTicks = 7;

struct Tick {
  double value;
  std::string label;  ///< empty: a line without a word
};

/// Round values between both ends, at most so many: 1, 2 or 5 times a power of ten apart.
std::vector<Tick> round_ticks(double low, double high, int most);

/// Powers of ten; where they would be fewer than three, 2 and 5 times them, too; where even these are, round ticks.
/// Many decades are labelled every second, third … one.
std::vector<Tick> decade_ticks(double low, double high, int most);

/// Powers of two, as sizes and numbers of GPUs go: where there are more than `most`, every second, third … one.
std::vector<Tick> doubling_ticks(double low, double high, int most,
                                 const std::function<std::string(double)>& label);

/// By the kind of axis: decade or round ticks.
std::vector<Tick> ticks_of(const Scale& scale, int most);

/// The axis as far as the next round ticks outside its ends.
Scale to_round_ends(const Scale& scale, int most);

/// "0.25", "16", "12 000": no more decimals than it takes, thousands apart from five digits on.
std::string tick_label(double value, int decimals);

}  // namespace ddpsim::plot
