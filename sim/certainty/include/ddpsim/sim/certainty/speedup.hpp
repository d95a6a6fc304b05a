// How much faster, or how much cheaper, one candidate does its work than another, source of error by source.
//
// An error is drawn alike for both candidates as far as it is of the same thing, whatever their clusters are called:
// interference and the costs of DDP, since workload and PyTorch are the same on both; how fast collectives are, where
// both have a network in use or neither, of the same nodes and NICs, and for two thirds of its variance where these
// differ in number or rate; what several ranks lose unexplained, less between one node and several; the speed of
// a GPU that was not recorded on, for clusters with that GPU. At twice the size an eighth is each size's own. A cluster
// that is the other with more of something is never slower while NCCL chooses the same; where it chooses otherwise the
// lead says so.
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

/// What a candidate takes for a unit of work, as predicted and with every source of error at its bounds.
struct WorkTime {
  /// One source at one of its bounds, and at the other.
  struct Moved {
    ErrorSource source;
    double at_one;
    double at_other;
    std::optional<std::size_t> workload{};  ///< whose it is alone, of several workloads
    bool operator==(const Moved&) const = default;
  };
  std::vector<Job> jobs;     ///< as simulated: one, or of several workloads each, on one cluster
  double expected = 0;       ///< seconds for one sample, or for what one rank does in a step
  std::size_t measured = 0;  ///< how many of these steps were
  std::vector<Moved> moved{};
  const Cluster& cluster() const { return jobs.front().cluster(); }
};

/// Several workloads one after the other on one cluster, so much of each; at least one. What is of the cluster, its GPUs,
/// NCCL or PyTorch errs alike for all; what is of a workload or its recording, for each by itself (belongs_to_workload).
WorkTime together(std::span<const WorkTime> works, std::span<const double> weights);

/// Where it may lie, every source of error at its bounds.
FigureRange range_of(const WorkTime& work);

/// What one source of error by itself makes of a lead.
struct SpeedupSource {
  ErrorSource source{};
  double low_percent = 0;
  double high_percent = 0;
  std::optional<std::size_t> workload{};  ///< whose it is alone, of several workloads
  /// By itself it may put the other in front.
  bool changes_order() const { return low_percent < 0; }
};

/// An all-reduce for which NCCL chooses otherwise on the faster cluster than on the other.
struct OtherChoice {
  Bytes size;
  CollectiveChoice on_other;
  CollectiveChoice on_faster;
};

/// By how much one candidate is ahead of another, in percent of the other's speed.
struct Speedup {
  double percent = 0;
  double low_percent = 0;
  double high_percent = 0;
  std::vector<SpeedupSource> sources{};  ///< widest first; those that move it at all
  bool same = false;                     ///< nothing but names tells the two apart
  bool never_slower = false;  ///< its cluster is the other's with more, and NCCL chooses the same
  bool dominating_is_slower = false;  ///< the other's cluster is this one's with more
  /// The largest such bucket, where one cluster is the other with more.
  std::optional<OtherChoice> other_choice{};
  /// Ahead in whatever scenario, not only in the likeliest.
  bool certain() const { return low_percent > 0; }
};

/// How much faster `fast` is; all 0 where either does nothing.
Speedup speedup(const WorkTime& fast, const WorkTime& slow);
/// How much less work on `cheap` costs than on `dear`, at so many USD an hour each; infinitely where `cheap` alone is free.
Speedup cheaper_by(const WorkTime& cheap, double cheap_usd_per_hour, const WorkTime& dear,
                   double dear_usd_per_hour);

}  // namespace ddpsim
