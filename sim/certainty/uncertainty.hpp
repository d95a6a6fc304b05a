// Named sources of error. Each is simulated to see what the answer would be if the error were real.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// A small all-reduce moves almost nothing, so its time is the fixed cost of every all-reduce.
inline constexpr Bytes kSmallAllReduce{32 * 1024};

/// Band of an all-reduce of `size` on this cluster: from its calibration, or else from its kind.
Band duration_band(const Cluster& cluster, Bytes size);
/// Band of the fixed cost of an all-reduce, and band of its time per byte. Both are 1 if NCCL
/// reduces nothing.
Band fixed_cost_band(const Job& job);
Band bandwidth_band(const Job& job, Bytes largest);
/// What the band rests on, as a sentence without a full stop.
std::string band_evidence(const Cluster& cluster);

/// Nodes in the largest published log with this kind of network and this generation of GPUs; two if
/// there is none.
int most_nodes_measured(const Cluster& cluster);

/// The job with collectives whose fixed cost and bandwidth time are multiplied by these factors.
Job with_collectives(const Job& job, double fixed, double bandwidth);

/// Error of each job shape of the calibration when predicted without its own logs; empty if
/// unknown.
std::string left_out_errors(const Cluster& cluster);

/// The job with one source of error at one of its bounds, and at the other.
struct Scenario {
  ErrorSource source;
  Job at_one;
  Job at_other;
};

/// One scenario per source, in the same order for every job. Multi-GPU overhead and compute scale
/// are left out if the options hold them certain.
std::vector<Scenario> scenarios(const Job& job);

/// The steady step with a source of error at one of its bounds, and at the other.
struct Bounds {
  ErrorSource source;
  StepTimes at_one;
  StepTimes at_other;
};
/// Uses `threads` threads (0: every core); the result does not depend on it.
std::vector<Bounds> simulate_scenarios(const Job& job, int threads = 1);

/// Turns a time at both bounds of a source into a sensitivity. If both bounds make the time longer,
/// it is never shorter, and vice versa: low and high always include zero.
Sensitivity sensitivity(ErrorSource source, Duration at_one, Duration at_other);
/// Medians of seven or more iterations repeat to half a percent.
inline constexpr double kMeasurementNoise = 0.005;
Sensitivity measurement_noise(Duration measured);
/// Noise of the measured current step: its spread, but no less than kMeasurementNoise.
Sensitivity measurement_noise(const Replay& replay);

/// How far a step may differ from the recorded one, judged by how recorded steps vary. Absent if
/// they do not tell.
std::optional<Sensitivity> recorded_spread(const Recorded& recorded, Duration predicted);

/// Combines independent sources: the root of the sum of squares, separately for the two directions.
Spread combine(const std::vector<Sensitivity>& sensitivities);

/// As in confidence.hpp, but from scenarios that are already simulated. `beside` is a source of
/// error that the job itself does not show. For a measured step it is the alternative explanation,
/// which moves nothing but the causes of loss.
Confidence assess(const Job& job, const StepTimes& predicted, const std::vector<Bounds>& scenarios,
                  const std::optional<Replay>& replay, const std::optional<Bounds>& beside);

}  // namespace ddpsim
