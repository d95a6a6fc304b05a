// How much faster, or how much cheaper, one candidate does its work than another, by source of
// error.
//
// Both candidates share an error as far as it concerns the same thing, whatever their clusters are
// called:
// - Interference and the costs of DDP are shared, because workload and PyTorch are the same.
// - The speed of collectives is shared if both use a network or neither does. Clusters of the same
// nodes and NICs share it; if these differ in number or rate, two thirds of its variance are
// shared.
// - The multi-GPU overhead is shared, but less between one node and several.
// - The speed of a GPU that was not recorded is shared by clusters with that GPU.
// - What a scheme does that is not simulated is shared under one scheme with the same settings.
// At twice the size, one eighth of the variance belongs to each size alone.
//
// A cluster that dominates the other is never slower while NCCL chooses the same on both. If NCCL
// chooses differently, the speedup says so.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/certainty/figure_range.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

/// Time of a candidate for one unit of work: as predicted, and with every source of error at its
/// bounds.
struct WorkTime {
  /// The time with one source at one of its bounds, and at the other.
  struct Moved {
    ErrorSource source;
    double at_one;
    double at_other;
    std::optional<std::size_t> workload{};  ///< the workload it belongs to, if several
    bool operator==(const Moved&) const = default;
  };
  /// As simulated on one cluster: one job, or one for each of several workloads.
  std::vector<Job> jobs;
  /// Seconds for one sample, or for the work of one rank in a step.
  double expected = 0;
  /// For how many of `jobs` the step time was measured.
  std::size_t measured = 0;
  std::vector<Moved> moved{};
  const Cluster& cluster() const { return jobs.front().cluster(); }
};

/// Several workloads (at least one) one after the other on one cluster, each with its weight.
/// Errors of the cluster, its GPUs, NCCL or PyTorch are shared by all of them. Errors of a workload
/// or its recording are independent (belongs_to_workload).
WorkTime together(std::span<const WorkTime> works, std::span<const double> weights);

/// Interval of the time, with every source of error at its bounds.
FigureRange range_of(const WorkTime& work);

/// Effect of one source of error alone on a speedup.
struct SpeedupSource {
  ErrorSource source{};
  double low_percent = 0;
  double high_percent = 0;
  std::optional<std::size_t> workload{};  ///< the workload it belongs to, if several
  /// Whether this source alone can make the other candidate the faster one.
  bool changes_order() const { return low_percent < 0; }
};

/// An all-reduce for which NCCL chooses differently on the two clusters.
struct OtherChoice {
  Bytes size;
  CollectiveChoice on_other;
  CollectiveChoice on_faster;
};

/// How much faster one candidate is than another, in percent of the other's speed.
struct Speedup {
  double percent = 0;
  double low_percent = 0;
  double high_percent = 0;
  std::vector<SpeedupSource> sources{};  ///< widest first; only those with an effect
  bool same = false;                     ///< the two differ only by name
  /// Whether the cluster of `fast` dominates the cluster of `slow`, and NCCL chooses the same on
  /// both.
  bool never_slower = false;
  /// Whether the cluster of `slow` dominates the cluster of `fast`.
  bool dominating_is_slower = false;
  /// The largest bucket with a different choice, if one cluster dominates the other.
  std::optional<OtherChoice> other_choice{};
  /// Whether `fast` is faster in every scenario, not only in the likeliest.
  bool certain() const { return low_percent > 0; }
};

/// How much faster `fast` is; all 0 if either does nothing.
Speedup speedup(const WorkTime& fast, const WorkTime& slow);
/// How much less the work costs on `cheap` than on `dear`, at these prices in USD an hour. Infinite
/// if only `cheap` is free.
Speedup cheaper_by(const WorkTime& cheap, double cheap_usd_per_hour, const WorkTime& dear,
                   double dear_usd_per_hour);

}  // namespace ddpsim
