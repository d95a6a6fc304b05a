// The 80 % interval of a calibrated prediction, as factors: it is wide where the nearest logs leave
// much unknown.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "shape_distance.hpp"

namespace ddpsim {
namespace {

/// One standard deviation of the logarithm of a time, per power of two outside the measured sizes.
constexpr double kPerOctave = 0.03;
/// How many times further the cost model is from a shape left out than from its own logs.
constexpr double kCostModelFurther = 2.0;
constexpr double kSlowerBeyond = 1.5;

/// What the nearest logs leave unknown: 0 at a measured size of a measured shape, 1 far from all.
/// It is the variance of a process without memory (its covariance falls exponentially), between its
/// neighbours or beyond the last one. Distances in sizes count like distances in nodes and GPUs,
/// each in its own length.
double left_open(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  constexpr double kFar = 1e3;
  double nearest = kFar;
  double fewer = kFar;
  double more = kFar;
  const std::int64_t ranks = std::int64_t{nodes} * gpus_per_node;
  for (const CalibratedShape& shape : calibration.shapes) {
    const double away = shape_distance(nodes, gpus_per_node, shape.nodes, shape.gpus_per_node) +
                        octaves_outside(shape, size) / kSizes;
    nearest = std::min(nearest, away);
    if (several_nodes(shape.nodes) != several_nodes(nodes)) continue;
    double& side = std::int64_t{shape.nodes} * shape.gpus_per_node < ranks ? fewer : more;
    side = std::min(side, away);
  }
  const auto free = [](double away) { return 1 - elementary::exp(-2 * away); };
  if (nearest <= 0) return 0;
  if (fewer < kFar && more < kFar) return free(fewer) * free(more) / free(fewer + more);
  return free(nearest);
}

/// Number of different shapes (nodes and GPUs per node) that were measured.
std::size_t scales_of(const Calibration& calibration) {
  std::size_t count = 0;
  for (auto one = calibration.shapes.begin(); one != calibration.shapes.end(); ++one)
    if (std::none_of(calibration.shapes.begin(), one, [&](const CalibratedShape& before) {
          return before.nodes == one->nodes && before.gpus_per_node == one->gpus_per_node;
        }))
      ++count;
  return count;
}

/// Half width of an 80 % interval in standard deviations, estimated from that many shapes:
/// Student's t.
double sigmas_of_80_percent(std::size_t shapes) {
  constexpr std::array kStudent{3.08, 1.89, 1.64, 1.53, 1.48, 1.44};
  return shapes == 0 ? kStudent.front() : kStudent[std::min(shapes, kStudent.size()) - 1];
}

/// One standard deviation of the logarithm of a time of one machine from its kind. Two machines
/// differ by the square root of two times as much. Within nodes: 8 A100 with NVSwitches, four logs,
/// each predicted from each other one. Over networks: these and two logs of p3dn pairs, a year and
/// two releases of NCCL apart, with equal weight.
constexpr SizeSpread kMachines{0.26, 0.17, 0.13};
constexpr SizeSpread kMachinesOverNetworks{0.26, 0.21, 0.27};

/// Linear in the logarithm of the size: from an octave below the middle class to its centre, and
/// from there to an octave above.
double at_size(const SizeSpread& spread, Bytes size) {
  const double at = octave(size);
  const double below = octave(kMiddleFrom) - 1;
  const double centre = octave(kMiddleCentre);
  const double above = octave(kLargeFrom) + 1;
  const auto between = [&](double a, double b, double from, double to) {
    return a + (b - a) * std::clamp((at - from) / (to - from), 0.0, 1.0);
  };
  return at < centre ? between(spread.small, spread.middle, below, centre)
                     : between(spread.middle, spread.large, centre, above);
}

/// Deviation at a measured size of a measured shape. Published logs come from other machines:
/// several logs of one shape describe their kind better than one.
double deviation_as_measured(const Calibration& calibration, int nodes, int gpus_per_node,
                             Bytes size) {
  const double repeats = at_size(calibration.repeatability, size);
  if (!is_published(calibration)) return repeats;
  const auto logs = std::ranges::count_if(calibration.shapes, [&](const CalibratedShape& shape) {
    return shape.nodes == nodes && shape.gpus_per_node == gpus_per_node;
  });
  const double machines = at_size(several_nodes(nodes) ? kMachinesOverNetworks : kMachines, size);
  return std::max(
      repeats,
      machines * std::sqrt(1 + 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(1, logs))));
}

/// Interval from logs that are all of this machine, or all published.
Band band_by(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  const double open = left_open(calibration, nodes, gpus_per_node, size);
  const double as_measured = deviation_as_measured(calibration, nodes, gpus_per_node, size);
  double deviation = kCorrectionNoise * kCorrectionNoise + as_measured * as_measured;
  const double deviation_there = at_size(calibration.residual_deviation, size) * kCostModelFurther *
                                 sigmas_of_80_percent(scales_of(calibration)) / k80PercentSigmas;
  deviation += open * deviation_there * deviation_there;
  int most = 0;
  for (const CalibratedShape& shape : calibration.shapes) most = std::max(most, shape.nodes);
  if (const auto* log = nearest_log(calibration, nodes, gpus_per_node, size)) {
    const double outside = kPerOctave * octaves_outside(*log, size);
    deviation += outside * outside;
  }
  const double wide = k80PercentSigmas * std::sqrt(deviation);
  const double beyond = nodes > most ? kSlowerBeyond : 1;
  return {elementary::exp(-wide), elementary::exp(wide * beyond)};
}

double width(const Band& band) {
  return band.slower / band.faster;
}

}  // namespace

Calibration logs_alone(const Calibration& calibration, bool published) {
  Calibration out{.residual_deviation = calibration.residual_deviation,
                  .repeatability = published ? SizeSpread() : calibration.repeatability};
  std::ranges::copy_if(calibration.shapes, std::back_inserter(out.shapes),
                       [&](const CalibratedShape& log) { return log.published == published; });
  return out;
}

bool is_published(const Calibration& calibration) {
  return !calibration.shapes.empty() &&
         std::ranges::all_of(calibration.shapes, &CalibratedShape::published);
}

const CalibratedShape* published_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                     Bytes size) {
  const Calibration published = logs_alone(calibration, true);
  const CalibratedShape* nearest = nearest_log(published, nodes, gpus_per_node, size);
  if (nearest == nullptr) return nullptr;
  const Calibration own = logs_alone(calibration, false);
  if (!own.shapes.empty() && width(band_by(own, nodes, gpus_per_node, size)) <=
                                 width(band_by(published, nodes, gpus_per_node, size)))
    return nullptr;
  return &*std::ranges::find_if(calibration.shapes, [&](const CalibratedShape& log) {
    return log.published && log.nodes == nearest->nodes &&
           log.gpus_per_node == nearest->gpus_per_node && log.source == nearest->source;
  });
}

Band calibrated_band(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  if (nodes * gpus_per_node <= 1) return {};
  if (is_published(calibration)) return band_by(calibration, nodes, gpus_per_node, size);
  const Band own = band_by(logs_alone(calibration, false), nodes, gpus_per_node, size);
  const Calibration published = logs_alone(calibration, true);
  if (published.shapes.empty()) return own;
  const Band other = band_by(published, nodes, gpus_per_node, size);
  return width(own) <= width(other) ? own : other;
}

}  // namespace ddpsim
