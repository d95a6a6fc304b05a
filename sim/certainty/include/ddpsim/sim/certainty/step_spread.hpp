// How the recorded steps vary: what one further step may take.
//
// From nine steps on the interval is free of any distribution: of n steps and one more, each is as likely as any
// other to be the k-th, so four in five further ones lie between the ranks (n + 1) / 10 and 9 (n + 1) / 10
// (between two ranks: straight). Fewer steps have no such ranks: their logarithms are taken as normal, and
//
//   mean +- t * s * sqrt(1 + 1 / n),   t = 0.9 quantile of Student's distribution with n - 1 degrees of freedom
//
// (Hahn and Meeker, Statistical Intervals, 1991, chapters 4 and 5.) It stops being true where the steps to come are
// unlike those recorded: without the profiler, or after the first epoch.
//
// A step that also saved a checkpoint says nothing of the others. The mean of the middle half does not see it, nor does
// its error: the spread of all, the outer quarters taken as the nearest step kept (Tukey and McLaughlin, Sankhya A 25, 1963).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// The middle half is taken of so many steps and more; of fewer, all.
inline constexpr std::size_t kMiddleHalfFrom = 4;

struct StepSpread {
  std::size_t steps = 0;
  Duration median;
  Duration low;  ///< 10th percentile from ten steps on, else the shortest …
  Duration high;
  bool percentiles = false;  ///< … as this says
  Duration next_low;         ///< four in five further steps lie from here …
  Duration next_high;        ///< … to here
  Duration
      mean_error;  ///< the mean of the middle half is known to so much, four times in five, either way
};

/// In any order; absent of fewer than two.
std::optional<StepSpread> step_spread(const std::vector<Duration>& steps);
/// Of those that have their period.
std::optional<StepSpread> step_spread(const Recorded& recorded);

}  // namespace ddpsim
