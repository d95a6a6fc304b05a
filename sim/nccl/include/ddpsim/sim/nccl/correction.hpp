// The difference between the pipeline cost model and the logs of a calibrated cluster.
//
// - T = cost(constants) * exp(r)
// - r(x) = sum over measured sizes i of weight_i * covariance(x, x_i), plus the sum over sizes of
//   the same shape and NCCL release of within_shape_i * within_shape_covariance(x, x_i)
//
// r is a Gaussian process (kriging) over the logarithm of the size and the number of nodes and
// GPUs. Near a measured size of a measured shape it returns that measurement. Between shapes it
// changes smoothly. Far from both it fades to the cost model alone. Its few lengths are the same
// for every cluster. They were chosen by leaving out shapes, over all families of logs together.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// The cost model's constants for a cluster: its own if it is calibrated, otherwise those of its
/// kind.
PathConstants constants_of(const Cluster& cluster);

/// One standard deviation of the logarithm of a time: how far the corrected model is from a log, in
/// addition to differences between repeats.
inline constexpr double kCorrectionNoise = 0.05;

/// Half width of an 80 % interval, in standard deviations.
inline constexpr double k80PercentSigmas = 1.28;

/// Prior covariance of the corrections at two operating points. A correction is the logarithm of
/// measured over modelled time.
double correction_covariance(const OperatingPoint& a, const OperatingPoint& b);
/// How much the correction of another machine of the same kind may differ from this one's: its
/// variance divided by correction_covariance. It is twice the mean square of kMachines
/// (calibrated_band.cpp), 0.097, over 0.0325.
inline constexpr double kOtherMachine = 3;
/// Prior covariance of the further correction of one job shape and NCCL release, after all shapes
/// together have been fitted.
double within_shape_covariance(const OperatingPoint& a, const OperatingPoint& b);

/// Whether major and minor versions are the same, or both are unknown.
bool same_release(const std::optional<NcclVersion>& a, const std::optional<NcclVersion>& b);

/// Whether the logs were taken with several releases of NCCL (2.18, 2.21). Each release has its own
/// kernels, thresholds and plugin settings, and therefore a part of the correction of its own.
bool of_several_releases(const Calibration& calibration);

/// Logarithm of measured over modelled time that the calibration expects.
double correction_at(const Calibration& calibration, const OperatingPoint& place);

/// The calibration with only the logs of this machine, or only the published ones. It has no
/// correction points.
Calibration logs_alone(const Calibration& calibration, bool published);

/// Whether no log is from this machine.
bool is_published(const Calibration& calibration);

/// The published log that a prediction rests on. Null if logs of this machine give a narrower
/// interval.
const CalibratedShape* published_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                     Bytes size);

/// Factors on a prediction that give its 80 % interval.
struct Band {
  double faster = 1;
  double slower = 1;
};

/// Interval around a calibrated prediction. At a measured size of a measured shape, it is the noise
/// of a log. It is wider between shapes, beyond them, and outside the measured sizes. Beyond the
/// largest number of nodes it is wider towards slower, because only there a fabric may saturate. It
/// is computed from this machine's logs, and from published logs plus the differences between
/// machines. The narrower one is used.
Band calibrated_band(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size);

/// Whether there are more than eight times the nodes of the largest measured job. No log tells what
/// a fabric does there.
bool is_far_beyond(const Calibration& calibration, int nodes);

/// Whether a log was taken at exactly this shape.
bool is_calibrated_at(const Calibration& calibration, int nodes, int gpus_per_node);

/// Whether a log was taken at exactly this shape whose sizes include `size`.
bool is_measured_at(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size);

/// The log nearest to a shape. If several are equally near, the one nearest to `size`. Null if
/// there is none.
const CalibratedShape* nearest_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                   Bytes size);

/// NCCL's version in the log nearest to a shape. Logs of this machine that state a version are
/// preferred. Absent if no version is known.
std::optional<NcclVersion> nearest_nccl(const Calibration& calibration, int nodes,
                                        int gpus_per_node);

/// Says why a shape is outside what was measured: "64 nodes lie beyond the calibrated range (2..16
/// nodes)". Empty if it is inside.
std::string beyond_calibration(const Calibration& calibration, int nodes, int gpus_per_node);

}  // namespace ddpsim
