// How much work makes so much time, on a device that nothing else uses meanwhile: what --busy replays compute by.
#pragma once

#include <cstdint>
#include <functional>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

class WorkRate {
 public:
  /// `time_of` works so many rounds, and says how long they took.
  static WorkRate calibrated(const std::function<Duration(std::int64_t rounds)>& time_of);

  /// What takes so long; beside something else it takes longer.
  std::int64_t rounds(Duration duration) const;

 private:
  explicit WorkRate(double picoseconds) : picoseconds_(picoseconds) {}
  double picoseconds_;  ///< of a round
};

}  // namespace ddpsim
