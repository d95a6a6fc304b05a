// Named sources of error, each as another simulation: what would the answer be if this were so?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// A small all-reduce moves next to nothing: what it takes is the fixed cost of any.
inline constexpr Bytes kSmallAllReduce{32 * 1024};

/// For an all-reduce of `size` on this cluster: by its calibration, else by its kind.
Band duration_band(const Cluster& cluster, Bytes size);
/// The same for the fixed cost alone, and for the bytes alone; by default 1, where NCCL reduces nothing.
Band fixed_cost_band(const Job& job);
Band bandwidth_band(const Job& job, Bytes largest);
/// What the band rests on, as a sentence without a full stop.
std::string band_evidence(const Cluster& cluster);

/// Nodes in the largest published log over such a network of such a generation of GPUs; two where there is none.
int most_nodes_measured(const Cluster& cluster);

/// The job with collectives whose fixed cost and bytes take so many times as long.
Job with_collectives(const Job& job, double fixed, double bandwidth);

/// How far off each job shape of the calibration would be without its own logs; empty where that is not known.
std::string left_out_errors(const Cluster& cluster);

/// The job with one source of error at one of its bounds, and at the other.
struct Scenario {
  ErrorSource source;
  Job at_one;
  Job at_other;
};

/// One scenario a source, for every job in the same order; multi-GPU slowdown and compute scale are
/// left out where the options hold them certain.
std::vector<Scenario> scenarios(const Job& job);

/// The steady step under a source of error at one of its bounds, and at the other.
struct Bounds {
  ErrorSource source;
  StepTimes at_one;
  StepTimes at_other;
};
/// On so many threads (0: as many as the machine has); nothing depends on it.
std::vector<Bounds> simulate_scenarios(const Job& job, int threads = 1);

/// From what both bounds of a source do to a time. Where both make it longer it is never shorter, and
/// the other way round: low and high reach to zero at least.
Sensitivity sensitivity(ErrorSource source, Duration at_one, Duration at_other);
/// Medians of seven or more iterations repeat to half a percent.
inline constexpr double kMeasurementNoise = 0.005;
Sensitivity measurement_noise(Duration measured);
/// Of today's step: what its spread says, but no less than that.
Sensitivity measurement_noise(const Replay& replay);

/// What a step may differ from the one recorded, by how the recorded ones did; absent where they do not tell.
std::optional<Sensitivity> recorded_spread(const Recorded& recorded, Duration predicted);

/// Independent sources combined: root of the sum of squares, apart for the two directions.
Spread combine(const std::vector<Sensitivity>& sensitivities);

/// As confidence.hpp has it, from what is simulated already. `beside`: a source that the job itself does not show;
/// of a measured step, what else explains it, which moves nothing but its causes.
Confidence assess(const Job& job, const StepTimes& predicted, const std::vector<Bounds>& scenarios,
                  const std::optional<Replay>& replay, const std::optional<Bounds>& beside);

}  // namespace ddpsim
