// Named uncertainty of collective times: what does not depend on a rate and what does err apart.
#pragma once

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// Factors on the parts of a collective's time.
struct CostFactors {
  double fixed = 1;      ///< launch, latencies, the pipeline's fill
  double bandwidth = 1;  ///< the bytes; on their time, not on their rate

  /// Of `time`, `volume` is the part that moves bytes.
  Duration apply(Duration time, Duration volume) const {
    return (time - volume).scaled(fixed) + volume.scaled(bandwidth);
  }
};

}  // namespace ddpsim
