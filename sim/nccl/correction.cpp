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

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "shape_distance.hpp"

namespace ddpsim {
namespace {

// Chosen as the lengths of shape_distance.hpp.
constexpr double kCommon = 0.1;
constexpr double kShape = 0.15;
constexpr double kOtherChoice = 0.3;
constexpr double kRelease = 0.3;
constexpr double kReleaseSizes = 6.0;  // powers of two
// A shape's own: large, so that a log at hand is given back whatever the cost model thinks of it.
constexpr double kOwn = 0.3;
constexpr double kOwnSizes = 1.0;  // powers of two

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
  const double common = several_nodes(a.nodes) == several_nodes(b.nodes) ? kCommon * kCommon : 0;
  return common +
         kShape * kShape *
             elementary::exp(-shape_distance(a.nodes, a.gpus_per_node, b.nodes, b.gpus_per_node));
}

/// `of_shapes`, as far as sizes and choices are alike, and what a release has of its own.
double covariance_of_sizes(const OperatingPoint& a, const OperatingPoint& b, double of_shapes,
                           const Place& place_a, const Place& place_b) {
  const bool alike = a.algorithm == b.algorithm && a.protocol == b.protocol;
  double release = 0;
  if (a.nccl && same_release(a.nccl, b.nccl) && several_nodes(a.nodes) && several_nodes(b.nodes))
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
    if (several_nodes(point.at.nodes) != several_nodes(place.nodes)) continue;
    if (same_release(point.at.nccl, place.nccl)) return place.nccl;
    if (nearest != nullptr && same_shape(point.at, *nearest)) continue;
    const double away =
        shape_distance(point.at.nodes, point.at.gpus_per_node, place.nodes, place.gpus_per_node);
    if (nearest != nullptr && away >= least) continue;
    nearest = &point.at;
    least = away;
  }
  return nearest == nullptr ? place.nccl : nearest->nccl;
}

}  // namespace

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

}  // namespace ddpsim
