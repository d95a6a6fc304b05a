// Batches for the steps of a training run, from its first one on.
#pragma once

#include <optional>

#include "ddpsim/sim/data_supply.hpp"
#include "ddpsim/sim/result.hpp"
#include "supply_chain.hpp"

namespace ddpsim {

class DataFeed {
 public:
  /// The job must outlive it.
  explicit DataFeed(const Job& job);
  /// Of the next step, which takes the GPU so long with its batches there.
  SupplyStall next(Duration step, std::optional<Duration> host_step);

 private:
  const Job& job_;
  std::optional<SupplyChain> chain_;
};

/// Behind the step, in front of the next: a part of it, and lost.
void add_stall(const SupplyStall& stall, StepTimes& times);

}  // namespace ddpsim
