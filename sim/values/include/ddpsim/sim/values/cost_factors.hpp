// Uncertainty of collective times in two parts, which err independently: the part that depends on a
// rate, and the rest.
#pragma once

#include <algorithm>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Factors on the parts of a collective's time.
struct CostFactors {
  double fixed = 1;  ///< launch, latencies, the pipeline's fill
  /// The bytes. A factor on their time, not on their rate.
  double bandwidth = 1;

  /// Scales `time`, of which `volume` is the part that moves bytes. No factor makes it shorter than
  /// `least`, the time that the links need.
  Duration apply(Duration time, Duration volume, Duration least = {}) const {
    return std::max((time - volume).scaled(fixed) + bytes(volume, least), std::min(time, least));
  }
  Duration bytes(Duration volume, Duration least = {}) const {
    return std::max(volume.scaled(bandwidth), std::min(volume, least));
  }
};

}  // namespace ddpsim
