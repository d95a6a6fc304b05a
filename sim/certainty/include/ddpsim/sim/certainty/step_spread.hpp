// How recorded steps vary, and what one further step may take.
//
// From nine steps on, the interval assumes no distribution. Among n steps and one more, each is as
// likely as any other to be the k-th. So 80 % of further steps lie between the ranks (n + 1) / 10
// and 9 (n + 1) / 10, with linear interpolation between two ranks. Fewer steps have no such ranks.
// Their logarithms are then taken as normal, and the interval is
//
//   mean +- t * s * sqrt(1 + 1 / n),   t = 0.9 quantile of Student's distribution with n - 1 degrees of freedom
//
// (Hahn and Meeker, Statistical Intervals, 1991, chapters 4 and 5.) The interval no longer holds if
// future steps are unlike the recorded ones: without the profiler, or after the first epoch.
//
// A step that also saved a checkpoint says nothing about the others. The mean of the middle half
// ignores it, and so does the error of that mean. The error is the spread of all steps, where each
// value in the outer quarters counts as the nearest step kept (Tukey and McLaughlin, Sankhya A 25,
// 1963).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// From this many steps on, only the middle half is used; with fewer steps, all are.
inline constexpr std::size_t kMiddleHalfFrom = 4;

struct StepSpread {
  std::size_t steps = 0;
  Duration median;
  /// `low` and `high` are the 10th and 90th percentile if `percentiles`, else the shortest and the
  /// longest step.
  Duration low;
  Duration high;
  bool percentiles = false;  ///< from ten steps on
  /// 80 % of further steps take from `next_low` to `next_high`.
  Duration next_low;
  Duration next_high;
  /// Half width of the 80 % interval of the mean of the middle half.
  Duration mean_error;
};

/// The steps may be in any order. Absent for fewer than two.
std::optional<StepSpread> step_spread(const std::vector<Duration>& steps);
/// How the recorded steps vary whose time from start to start of the next step is known.
std::optional<StepSpread> step_spread(const Recorded& recorded);

}  // namespace ddpsim
