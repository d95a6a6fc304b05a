// Where the pipeline cost model and the logs of a calibrated cluster part.
//
//   T = cost(constants) * exp(r)
//   r(x) = sum over measured sizes i of weight_i * covariance(x, x_i)
//          + sum over those of the same shape and release of NCCL of within_shape_i * within_shape_covariance(x, x_i)
//
// r is a Gaussian process (kriging) over the logarithm of the size and the number of nodes and GPUs:
// near a measured size of a measured shape it gives that measurement back, between shapes it passes
// smoothly, and far from both it fades to the cost model alone. Its few lengths are the same for every
// cluster: chosen by what shapes left out showed, over all families of logs together.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// The cost model's constants for a cluster: its own where it is calibrated, else those of its kind.
PathConstants constants_of(const Cluster& cluster);

/// Of the logarithm of a time, one standard deviation: what the correction leaves of a log, beside what
/// repeats differ by.
inline constexpr double kCorrectionNoise = 0.05;

/// Standard deviations within which four in five lie.
inline constexpr double kFourInFive = 1.28;

/// Prior covariance of the logarithms of measured over modelled time at two places.
double correction_covariance(const OperatingPoint& a, const OperatingPoint& b);
/// How far the correction of another machine of the same kind may lie from this one's: its variance over
/// correction_covariance. Twice the mean of kMachines' squares (calibrated_band.cpp), 0.097, over 0.0325.
inline constexpr double kOtherMachine = 3;
/// The same of what a shape keeps to itself under one release of NCCL, once all shapes together have been fitted.
double within_shape_covariance(const OperatingPoint& a, const OperatingPoint& b);

/// Whether major and minor are the same, or neither is known.
bool same_release(const std::optional<NcclVersion>& a, const std::optional<NcclVersion>& b);

/// Whether its logs were taken with several releases of NCCL (2.18, 2.21). Each has its own kernels,
/// thresholds and plugin settings, and with them a share of the correction of its own.
bool of_several_releases(const Calibration& calibration);

/// Logarithm of measured over modelled time that the calibration expects.
double correction_at(const Calibration& calibration, const OperatingPoint& place);

/// The same with the logs of this machine alone, or with the published ones; nothing to correct by.
Calibration logs_alone(const Calibration& calibration, bool published);

/// No log is of this machine.
bool is_published(const Calibration& calibration);

/// The published log that a prediction rests on; null where logs of this machine make it surer.
const CalibratedShape* published_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                     Bytes size);

/// Factors on a prediction between which four in five measured times lie.
struct Band {
  double faster = 1;
  double slower = 1;
};

/// Around a calibrated prediction: the noise of a log at a measured size of a measured shape, more
/// between shapes, more beyond them and outside the sizes measured there, and beyond the most nodes
/// more towards slower: only there a fabric may fill up. By the logs of this machine, or by published
/// ones and what machines differ by: the surer of the two.
Band calibrated_band(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size);

/// Whether there are more than eight times the nodes of the largest job measured: what a fabric
/// does there no log tells.
bool is_far_beyond(const Calibration& calibration, int nodes);

/// Whether a log was taken at this very shape.
bool is_calibrated_at(const Calibration& calibration, int nodes, int gpus_per_node);

/// Whether a log was taken at this very shape whose sizes reach around `size`.
bool is_measured_at(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size);

/// The log nearest to a shape, and to `size` where several are as near; null where there is none.
const CalibratedShape* nearest_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                   Bytes size);

/// NCCL's version in the log nearest to a shape, among the logs of this machine where one of them states its version; absent where
/// none is known.
std::optional<NcclVersion> nearest_nccl(const Calibration& calibration, int nodes,
                                        int gpus_per_node);

/// Why a shape lies outside what was measured: "64 nodes lie beyond the calibrated range (2..16
/// nodes)"; empty within it.
std::string beyond_calibration(const Calibration& calibration, int nodes, int gpus_per_node);

}  // namespace ddpsim
