// Waits for the batches of a training run, step by step from the first one on.
#pragma once

#include <optional>

#include "ddpsim/sim/data/data_supply.hpp"
#include "supply_chain.hpp"

namespace ddpsim {

class DataFeed {
 public:
  /// Precondition: the job outlives the feed.
  explicit DataFeed(const Job& job);
  /// The wait of the next step. `step` is the time that it takes on the GPU once its batches are
  /// there.
  SupplyStall next(Duration step, std::optional<Duration> host_step);

 private:
  const Job& job_;
  std::optional<SupplyChain> chain_;
};

/// How much longer an epoch of `steps` steps waits than the same number of steady steps. It waits
/// for its first batches, and for its last ones if it ends within a round of workers, because the
/// batches of a round arrive together.
Duration wait_of_epoch(const Job& job, const DataSupply& supply, std::int64_t steps,
                       std::optional<Duration> host_step);

}  // namespace ddpsim
