// Which rank waited for which at collectives, summed over the simulated steps.
#pragma once

#include <utility>
#include <vector>

#include "ddpsim/sim/step/result.hpp"
#include "planned_step.hpp"

namespace ddpsim {

class RankWaits {
 public:
  void add(const PlannedStep& planned, const Execution& execution);
  std::vector<RankWait> finish() && { return std::move(waits_); }

 private:
  std::vector<RankWait> waits_;  ///< by rank; empty while all behave alike
};

}  // namespace ddpsim
