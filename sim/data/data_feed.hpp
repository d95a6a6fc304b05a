// Batches for the steps of a training run, from its first one on.
#pragma once

#include <optional>

#include "ddpsim/sim/data/data_supply.hpp"
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

/// What an epoch of so many steps waits beyond as many settled ones: for its first batches, and where it ends within a round of
/// workers, as they give a round's batches at once.
Duration wait_of_epoch(const Job& job, const DataSupply& supply, std::int64_t steps,
                       std::optional<Duration> host_step);

}  // namespace ddpsim
