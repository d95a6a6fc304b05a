// Named uncertainty of collective times: what does not depend on a rate and what does err apart.
#pragma once

#include <algorithm>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Factors on the parts of a collective's time.
struct CostFactors {
  double fixed = 1;      ///< launch, latencies, the pipeline's fill
  double bandwidth = 1;  ///< the bytes; on their time, not on their rate

  /// Of `time`, `volume` is the part that moves bytes. No factor makes it shorter than the wires' `least`.
  Duration apply(Duration time, Duration volume, Duration least = {}) const {
    return std::max((time - volume).scaled(fixed) + bytes(volume, least), std::min(time, least));
  }
  Duration bytes(Duration volume, Duration least = {}) const {
    return std::max(volume.scaled(bandwidth), std::min(volume, least));
  }
};

}  // namespace ddpsim
