// The ticks of an axis, and their labels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scale.hpp"

namespace ddpsim::plot {

/// Readers would not read more of them on one axis.
inline constexpr int kMostTicks = 7;

struct Tick {
  double value;
  /// Empty: a line without a word.
  std::string label;
};

/// At most `most` round values between both ends: 1, 2 or 5 times a power of ten apart.
std::vector<Tick> round_ticks(double low, double high, int most);

/// Powers of ten. If they are fewer than three, also 2 and 5 times them; if these are, too, round ticks. If there are more
/// than `most` decades, only every second, third … one has a label.
std::vector<Tick> decade_ticks(double low, double high, int most);

/// Powers of two, as sizes and numbers of GPUs go. If there are more than `most`, only every second, third … one.
std::vector<Tick> doubling_ticks(double low, double high, int most,
                                 const std::function<std::string(double)>& label);

/// Decade ticks of a logarithmic axis, round ticks of a linear one.
std::vector<Tick> ticks_of(const Scale& scale, int most);

/// The axis, made longer up to the next round ticks outside its ends.
Scale to_round_ends(const Scale& scale, int most);

/// "0.25", "16", "1 000 000": a plain number, never "1e+06", which would be a second notation on the axis. Thousands are set
/// apart from five digits on, from four on if `largest`, the greatest value on the axis, has five.
std::string tick_label(double value, int decimals, double largest = 0);

}  // namespace ddpsim::plot
