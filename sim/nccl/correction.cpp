// The Gaussian process of a calibrated cluster, read back: no linear algebra here, the weights come
// from the fit.
//
//   covariance = size * choice * (common + shape * exp(-distance))
//     size       Matern 3/2 in log2 of the size
//     choice     1 where NCCL chose alike, else kOtherChoice
//     common     what all shapes of the cluster share; nothing between one node and several
//     and, where the logs are of several releases of NCCL, what one release shares between nodes:
//                its latencies; the wire's rate is the same for all
//     distance   |log2 N| / kNodes + |log2 g| / kGpus, further between one node and several
// Stops being true where a fabric saturates beyond the shapes measured: no log inside tells.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

// Chosen by shapes left out, all families together (tests/unit/calibrate/families_test.cpp); kSizes where the
// evidence of all families together is flat, from 5 to 8.
constexpr double kCommon = 0.1;
constexpr double kShape = 0.15;
constexpr double kSizes = 6.0;    // powers of two
constexpr double kNodes = 4.0;    // powers of two
constexpr double kGpus = 5.0;     // powers of two
constexpr double kOneNode = 2.0;  // powers of two of nodes, from one node to several
constexpr double kOtherChoice = 0.3;
constexpr double kRelease = 0.3;
constexpr double kReleaseSizes = 6.0;  // powers of two
// A shape's own: large, so that a log at hand is given back whatever the cost model thinks of it.
constexpr double kOwn = 0.3;
constexpr double kOwnSizes = 1.0;  // powers of two

/// Of the logarithm of a time, per power of two outside the measured sizes.
constexpr double kPerOctave = 0.03;
/// How much further than from its own logs the cost model is from a shape left out.
constexpr double kCostModelFurther = 2.0;
constexpr double kSlowerBeyond = 1.5;

double log2_of(double value) {
  return elementary::log2(std::max(value, 1.0));
}

bool several(int nodes) {
  return nodes > 1;
}

/// In units of the shape's correlation length.
double distance(int nodes_a, int gpus_a, int nodes_b, int gpus_b) {
  const double nodes = std::abs(log2_of(nodes_a) - log2_of(nodes_b)) +
                       (several(nodes_a) != several(nodes_b) ? kOneNode : 0);
  return nodes / kNodes + std::abs(log2_of(gpus_a) - log2_of(gpus_b)) / kGpus;
}

double octave(Bytes size) {
  return log2_of(static_cast<double>(size.count()));
}

constexpr std::array kLengths{kSizes, kReleaseSizes, kOwnSizes};
enum Length { kOfSizes, kOfRelease, kOfOwn };

/// log2 of a size, and what makes a covariance of two of them a quotient: exp(sqrt(3) log2 / length), of each length.
struct Place {
  double octave = 0;
  std::array<double, kLengths.size()> grown{};
};

Place place_of_octave(double octave) {
  Place out{.octave = octave};
  for (std::size_t i = 0; i < kLengths.size(); ++i)
    out.grown[i] = elementary::exp(std::sqrt(3.0) / kLengths[i] * octave);
  return out;
}

/// Logs have powers of two, mostly: these are at hand.
Place place_of(Bytes size) {
  static const auto kPowersOfTwo = [] {
    std::array<Place, 63> places;
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = place_of_octave(static_cast<double>(i));
    return places;
  }();
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(1, size.count()));
  if (std::has_single_bit(bytes))
    return kPowersOfTwo[static_cast<std::size_t>(std::countr_zero(bytes))];
  return place_of_octave(octave(size));
}

/// Matern 3/2 in log2 of the size.
double matern(const Place& a, const Place& b, Length length) {
  const double steps = std::sqrt(3.0) / kLengths[length] * std::abs(a.octave - b.octave);
  const double quotient =
      a.octave < b.octave ? a.grown[length] / b.grown[length] : b.grown[length] / a.grown[length];
  return (1 + steps) * quotient;
}

/// 1 to 64 KiB, where a hop's latency is what takes the time, 0 from 1 MiB, where the wire does.
double latency_share(double octave) {
  return std::clamp((20 - octave) / 4, 0.0, 1.0);
}

bool same_shape(const OperatingPoint& a, const OperatingPoint& b) {
  return a.nodes == b.nodes && a.gpus_per_node == b.gpus_per_node;
}

/// What places of two shapes share where they are of one size and chosen alike.
double covariance_of_shapes(const OperatingPoint& a, const OperatingPoint& b) {
  const double common = several(a.nodes) == several(b.nodes) ? kCommon * kCommon : 0;
  return common +
         kShape * kShape *
             elementary::exp(-distance(a.nodes, a.gpus_per_node, b.nodes, b.gpus_per_node));
}

/// `of_shapes`, as far as sizes and choices are alike, and what a release has of its own.
double covariance_of_sizes(const OperatingPoint& a, const OperatingPoint& b, double of_shapes,
                           const Place& place_a, const Place& place_b) {
  const bool alike = a.algorithm == b.algorithm && a.protocol == b.protocol;
  double release = 0;
  if (a.nccl && same_release(a.nccl, b.nccl) && several(a.nodes) && several(b.nodes))
    release = kRelease * kRelease * latency_share(place_a.octave) * latency_share(place_b.octave) *
              matern(place_a, place_b, kOfRelease);
  return matern(place_a, place_b, kOfSizes) * (alike ? 1 : kOtherChoice) * of_shapes + release;
}

double within_shape(const Place& a, const Place& b) {
  return kOwn * kOwn * matern(a, b, kOfOwn);
}

/// The release of NCCL by whose logs a place is corrected: its own, or, where no log of one node, or of several, is of it, that of the
/// nearest of these.
std::optional<NcclVersion> corrected_by(const Calibration& calibration,
                                        const OperatingPoint& place) {
  const OperatingPoint* nearest = nullptr;
  double least = 0;
  for (const CorrectionPoint& point : calibration.correction) {
    if (several(point.at.nodes) != several(place.nodes)) continue;
    if (same_release(point.at.nccl, place.nccl)) return place.nccl;
    if (nearest != nullptr && same_shape(point.at, *nearest)) continue;
    const double away =
        distance(point.at.nodes, point.at.gpus_per_node, place.nodes, place.gpus_per_node);
    if (nearest != nullptr && away >= least) continue;
    nearest = &point.at;
    least = away;
  }
  return nearest == nullptr ? place.nccl : nearest->nccl;
}

/// "2..16 nodes"
std::string range_of(int from, int to, const char* what) {
  if (from == to) return fmt::format("{} {}{}", from, what, from == 1 ? "" : "s");
  return fmt::format("{}..{} {}s", from, to, what);
}

/// Powers of two from the sizes a log has to this one; 0 among them.
double octaves_outside(const CalibratedShape& log, Bytes size) {
  return std::max({0.0, octave(log.smallest) - octave(size), octave(size) - octave(log.largest)});
}

/// What the nearest logs leave open, 0 at a measured size of a measured shape, 1 far from all: of a
/// process without memory (its covariance falls exponentially), between its neighbours or beyond the
/// last. A log is as far in sizes as in nodes and GPUs, each in its own length.
double left_open(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  constexpr double kFar = 1e3;
  double nearest = kFar;
  double fewer = kFar;
  double more = kFar;
  const std::int64_t ranks = std::int64_t{nodes} * gpus_per_node;
  for (const CalibratedShape& shape : calibration.shapes) {
    const double away = distance(nodes, gpus_per_node, shape.nodes, shape.gpus_per_node) +
                        octaves_outside(shape, size) / kSizes;
    nearest = std::min(nearest, away);
    if (several(shape.nodes) != several(nodes)) continue;
    double& side = std::int64_t{shape.nodes} * shape.gpus_per_node < ranks ? fewer : more;
    side = std::min(side, away);
  }
  const auto free = [](double away) { return 1 - elementary::exp(-2 * away); };
  if (nearest <= 0) return 0;
  if (fewer < kFar && more < kFar) return free(fewer) * free(more) / free(fewer + more);
  return free(nearest);
}

/// How many different numbers of nodes and GPUs were measured.
std::size_t scales_of(const Calibration& calibration) {
  std::size_t count = 0;
  for (auto one = calibration.shapes.begin(); one != calibration.shapes.end(); ++one)
    if (std::none_of(calibration.shapes.begin(), one, [&](const CalibratedShape& before) {
          return before.nodes == one->nodes && before.gpus_per_node == one->gpus_per_node;
        }))
      ++count;
  return count;
}

/// Standard deviations, known from so many shapes, within which four in five lie: Student's t.
double four_in_five(std::size_t shapes) {
  constexpr std::array kStudent{3.08, 1.89, 1.64, 1.53, 1.48, 1.44};
  return shapes == 0 ? kStudent.front() : kStudent[std::min(shapes, kStudent.size()) - 1];
}

/// Of the logarithm of a time, one standard deviation of one machine from its kind; between two of
/// them the square root of two times as much. Nodes of 8 A100 behind NVSwitches: four logs, each
/// predicted from each other one. Between nodes these and two logs of p3dn pairs, a year and two
/// releases of NCCL apart, weigh alike.
constexpr SizeSpread kMachines{0.26, 0.17, 0.13};
constexpr SizeSpread kMachinesOverNetworks{0.26, 0.21, 0.27};

/// Straight in the logarithm of the size from an octave below the middle class to its centre, and from
/// there to an octave above.
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

/// At a measured size of a measured shape. Published logs know other machines: several of one shape know their kind
/// better than one does.
double deviation_as_measured(const Calibration& calibration, int nodes, int gpus_per_node,
                             Bytes size) {
  const double repeats = at_size(calibration.repeatability, size);
  if (!is_published(calibration)) return repeats;
  const auto logs = std::ranges::count_if(calibration.shapes, [&](const CalibratedShape& shape) {
    return shape.nodes == nodes && shape.gpus_per_node == gpus_per_node;
  });
  const double machines = at_size(several(nodes) ? kMachinesOverNetworks : kMachines, size);
  return std::max(
      repeats,
      machines * std::sqrt(1 + 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(1, logs))));
}

/// By logs that are all of this machine, or all published.
Band band_by(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  const double open = left_open(calibration, nodes, gpus_per_node, size);
  const double as_measured = deviation_as_measured(calibration, nodes, gpus_per_node, size);
  double deviation = kCorrectionNoise * kCorrectionNoise + as_measured * as_measured;
  const double deviation_there = at_size(calibration.residual_deviation, size) * kCostModelFurther *
                                 four_in_five(scales_of(calibration)) / kFourInFive;
  deviation += open * deviation_there * deviation_there;
  int most = 0;
  for (const CalibratedShape& shape : calibration.shapes) most = std::max(most, shape.nodes);
  if (const auto* log = nearest_log(calibration, nodes, gpus_per_node, size)) {
    const double outside = kPerOctave * octaves_outside(*log, size);
    deviation += outside * outside;
  }
  const double wide = kFourInFive * std::sqrt(deviation);
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

bool same_release(const std::optional<NcclVersion>& a, const std::optional<NcclVersion>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->major == b->major && a->minor == b->minor;
}

bool of_several_releases(const Calibration& calibration) {
  return std::adjacent_find(calibration.shapes.begin(), calibration.shapes.end(),
                            [](const CalibratedShape& a, const CalibratedShape& b) {
                              return !same_release(a.nccl, b.nccl);
                            }) != calibration.shapes.end();
}

double correction_covariance(const OperatingPoint& a, const OperatingPoint& b) {
  return covariance_of_sizes(a, b, covariance_of_shapes(a, b), place_of(a.size), place_of(b.size));
}

double within_shape_covariance(const OperatingPoint& a, const OperatingPoint& b) {
  if (!same_shape(a, b) || !same_release(a.nccl, b.nccl)) return 0;
  return within_shape(place_of(a.size), place_of(b.size));
}

double correction_at(const Calibration& calibration, const OperatingPoint& asked) {
  OperatingPoint place = asked;
  place.nccl = corrected_by(calibration, asked);
  const Place here = place_of(place.size);
  const OperatingPoint* before = nullptr;
  double of_shapes = 0;
  double sum = 0;
  for (const CorrectionPoint& point : calibration.correction) {
    // Points of one shape stand side by side.
    if (before == nullptr || !same_shape(*before, point.at))
      of_shapes = covariance_of_shapes(place, point.at);
    before = &point.at;
    const Place there = place_of(point.at.size);
    const double own = same_shape(place, point.at) && same_release(place.nccl, point.at.nccl)
                           ? within_shape(here, there)
                           : 0;
    sum += point.weight * covariance_of_sizes(place, point.at, of_shapes, here, there) +
           point.within_shape * own;
  }
  return sum;
}

bool is_far_beyond(const Calibration& calibration, int nodes) {
  constexpr int kFar = 8;
  return std::ranges::all_of(calibration.shapes, [&](const CalibratedShape& shape) {
    return nodes > kFar * std::int64_t{shape.nodes};
  });
}

bool is_calibrated_at(const Calibration& calibration, int nodes, int gpus_per_node) {
  return std::any_of(calibration.shapes.begin(), calibration.shapes.end(),
                     [&](const CalibratedShape& shape) {
                       return shape.nodes == nodes && shape.gpus_per_node == gpus_per_node;
                     });
}

bool is_measured_at(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  return std::any_of(calibration.shapes.begin(), calibration.shapes.end(),
                     [&](const CalibratedShape& log) {
                       return log.nodes == nodes && log.gpus_per_node == gpus_per_node &&
                              octaves_outside(log, size) <= 0;
                     });
}

const CalibratedShape* nearest_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                   Bytes size) {
  const auto away = [&](const CalibratedShape& log) {
    return std::pair(distance(nodes, gpus_per_node, log.nodes, log.gpus_per_node),
                     octaves_outside(log, size));
  };
  const auto nearest = std::min_element(
      calibration.shapes.begin(), calibration.shapes.end(),
      [&](const CalibratedShape& a, const CalibratedShape& b) { return away(a) < away(b); });
  return nearest == calibration.shapes.end() ? nullptr : &*nearest;
}

std::optional<NcclVersion> nearest_nccl(const Calibration& calibration, int nodes,
                                        int gpus_per_node) {
  const bool own_known = std::ranges::any_of(calibration.shapes, [](const CalibratedShape& shape) {
    return !shape.published && shape.nccl;
  });
  const auto away = [&](const CalibratedShape& shape) {
    return std::pair(own_known && shape.published,
                     distance(nodes, gpus_per_node, shape.nodes, shape.gpus_per_node));
  };
  const auto nearest = std::min_element(
      calibration.shapes.begin(), calibration.shapes.end(),
      [&](const CalibratedShape& a, const CalibratedShape& b) { return away(a) < away(b); });
  if (nearest == calibration.shapes.end()) return std::nullopt;
  return nearest->nccl;
}

std::string beyond_calibration(const Calibration& calibration, int nodes, int gpus_per_node) {
  if (nodes * gpus_per_node <= 1 || calibration.shapes.empty()) return "";
  const auto [fewest, most] = std::minmax_element(
      calibration.shapes.begin(), calibration.shapes.end(),
      [](const CalibratedShape& a, const CalibratedShape& b) { return a.nodes < b.nodes; });
  if (nodes < fewest->nodes || nodes > most->nodes)
    return fmt::format("{} node{} beyond the calibrated range ({})", nodes,
                       nodes == 1 ? " lies" : "s lie",
                       range_of(fewest->nodes, most->nodes, "node"));
  const auto [smallest, largest] =
      std::minmax_element(calibration.shapes.begin(), calibration.shapes.end(),
                          [](const CalibratedShape& a, const CalibratedShape& b) {
                            return a.gpus_per_node < b.gpus_per_node;
                          });
  if (gpus_per_node < smallest->gpus_per_node || gpus_per_node > largest->gpus_per_node)
    return fmt::format("{} GPU{} per node lie{} beyond the calibrated range ({})", gpus_per_node,
                       gpus_per_node == 1 ? "" : "s", gpus_per_node == 1 ? "s" : "",
                       range_of(smallest->gpus_per_node, largest->gpus_per_node, "GPU"));
  const auto several_logs = std::count_if(
      calibration.shapes.begin(), calibration.shapes.end(),
      [&](const CalibratedShape& shape) { return several(shape.nodes) == several(nodes); });
  if (several_logs == 0)
    return several(nodes) ? "no log of several nodes was fitted" : "no log of one node was fitted";
  return "";
}

}  // namespace ddpsim
