// Amount of work that takes a given time on an otherwise idle device. With --busy, replayed compute
// is such work.
#pragma once

#include <cstdint>
#include <functional>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

class WorkRate {
 public:
  /// `time_of` runs a number of rounds and returns how long they took.
  static WorkRate calibrated(const std::function<Duration(std::int64_t rounds)>& time_of);

  /// Rounds that take this long on an idle device. On a shared device they take longer.
  std::int64_t rounds(Duration duration) const;

 private:
  explicit WorkRate(double picoseconds) : picoseconds_(picoseconds) {}
  double picoseconds_;  ///< time of one round
};

}  // namespace ddpsim
