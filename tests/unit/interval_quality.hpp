// How good 80 % intervals of times are: how many measured times they hold, how wide they are, and both in one figure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {

/// Collects measured times and their intervals. Widths and misses are logarithms of ratios: 3 µs and 3 ms weigh alike.
class IntervalQuality {
 public:
  void add(double measured, double low, double high) {
    constexpr double kOutside = 0.2;  // of an 80 % interval
    const double width = std::log(high / low);
    const double miss = std::max({0.0, std::log(low / measured), std::log(measured / high)});
    held_ += miss > 0 ? 0 : 1;
    widths_.push_back(width);
    scores_ += width + 2 / kOutside * miss;
  }

  void add(const IntervalQuality& more) {
    held_ += more.held_;
    widths_.insert(widths_.end(), more.widths_.begin(), more.widths_.end());
    scores_ += more.scores_;
  }

  int count() const { return static_cast<int>(widths_.size()); }
  int held() const { return held_; }
  double share() const { return widths_.empty() ? 0 : 1.0 * held_ / count(); }
  /// Median of high over low.
  double width() const { return widths_.empty() ? 1 : std::exp(median(widths_)); }
  /// Mean interval score of Gneiting and Raftery: the width, and ten times the miss of each time outside. Less is better, and no
  /// other interval expects less than the true 10 and 90 % quantiles.
  double score() const { return widths_.empty() ? 0 : scores_ / count(); }

  /// "held  91 % of 240 times, width 2.31, score 1.05"
  std::string text() const {
    return fmt::format("held {:3.0f} % of {} times, width {:.2f}, score {:.2f}", 100 * share(),
                       count(), width(), score());
  }

 private:
  int held_ = 0;
  std::vector<double> widths_;
  double scores_ = 0;
};

}  // namespace ddpsim
