// Evaluates the Gaussian process of a calibrated cluster. There is no linear algebra here, because
// the weights come from the fit.
//
//   covariance = size * choice * (common + shape * exp(-distance))
//
// - size: Matern 3/2 in log2 of the size
// - choice: 1 if NCCL made the same choice, otherwise kOtherChoice
// - common: what all shapes of the cluster share; 0 between one node and several
// - distance: |log2 N| / kNodes + |log2 g| / kGpus, larger between one node and several
//
// If the logs are of several releases of NCCL, a term is added for what one release shares between
// nodes: its latencies. The rate of the links is the same for all releases.
//
// The model does not hold where a fabric saturates beyond the measured shapes, because no log
// inside shows it.
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

// Chosen in the same way as the lengths in shape_distance.hpp.
constexpr double kCommon = 0.1;
constexpr double kShape = 0.15;
constexpr double kOtherChoice = 0.3;
constexpr double kRelease = 0.3;
constexpr double kReleaseSizes = 6.0;  // powers of two
// A shape's own part. It is large, so that an existing log is reproduced even if the cost model
// disagrees.
constexpr double kOwn = 0.3;
constexpr double kOwnSizes = 1.0;  // powers of two

constexpr std::array kLengths{kSizes, kReleaseSizes, kOwnSizes};
enum Length { kOfSizes, kOfRelease, kOfOwn };

/// log2 of a size, and for each length exp(sqrt(3) log2 / length). With the latter, a covariance of
/// two sizes is a quotient.
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

/// Most sizes in logs are powers of two, so these are computed in advance.
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

/// 1 from 1 to 64 KiB, where hop latencies dominate; 0 from 1 MiB, where the links do.
double latency_share(double octave) {
  return std::clamp((20 - octave) / 4, 0.0, 1.0);
}

bool same_shape(const OperatingPoint& a, const OperatingPoint& b) {
  return a.nodes == b.nodes && a.gpus_per_node == b.gpus_per_node;
}

/// Covariance of two shapes at the same size and choice.
double covariance_of_shapes(const OperatingPoint& a, const OperatingPoint& b) {
  const double common = several_nodes(a.nodes) == several_nodes(b.nodes) ? kCommon * kCommon : 0;
  return common +
         kShape * kShape *
             elementary::exp(-shape_distance(a.nodes, a.gpus_per_node, b.nodes, b.gpus_per_node));
}

/// Covariance of two operating points: `of_shapes`, scaled by how similar their sizes and NCCL's
/// choices are, plus a part that points of one NCCL release share.
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

/// The NCCL release whose logs correct an operating point: its own, if any log has it. One node and
/// several nodes are treated separately. If no log has it, the release of the nearest log is used.
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
    // Points of one shape are next to each other.
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
