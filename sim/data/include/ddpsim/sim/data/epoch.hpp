// An epoch of a job: its steps, the smaller batch at its end, and what ranks without inputs still
// do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/values/bucket.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/data_set.hpp"
#include "ddpsim/sim/values/uneven_inputs.hpp"

namespace ddpsim {

/// An epoch over SimulationOptions::data_set, with the workload's batch size.
struct Epoch {
  DataSet set;
  SampledSet sampled;
  std::int64_t batch = 1;  ///< samples per GPU and batch
  BatchedSet batched;      ///< micro-batches of each rank
  Duration step;           ///< with full batches
  /// Step with the smaller last batch, whose compute is scaled by its number of samples. A lower
  /// bound, because kernels with few samples use a GPU less well.
  std::optional<Duration> tail_step;
  /// How much longer the epoch waits for workers than steady steps do: at its start, and in a last
  /// round that is not whole.
  Duration warm_up;
  Duration time;
  std::int64_t steps = 0;
};

/// A collective of an iteration under Join, as the library issues it.
struct JoinCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string_view what;  ///< "not joined yet", "bucket", …
  Dtype dtype = Dtype::float32;
  std::int64_t elements = 1;
  /// Reduction: "sum", "max". Empty for broadcasts.
  std::string_view op;
  bool of_join = false;  ///< not issued without Join
  /// The host waits for it and reads the result.
  bool host_waits = false;
};

/// An epoch with SimulationOptions::uneven_inputs.
struct JoinedEpoch {
  UnevenInputs inputs;
  /// Collectives of a rank that has inputs, in order.
  std::vector<JoinCollective> iteration;
  /// Collectives of a rank without inputs while others have some: it shadows theirs.
  std::vector<JoinCollective> joined;
  /// Collectives at the end: when no rank has inputs, or, if all raise, instead of an iteration.
  std::vector<JoinCollective> end;
  /// Step of the same job outside the context manager.
  Duration step_without;
  Duration step;
  Duration end_time;
  std::int64_t iterations = 0;  ///< until the last rank joins, or all raise
  /// How many of these have ranks without inputs.
  std::int64_t tail = 0;
  /// Inputs that no rank processes because all raise.
  std::int64_t skipped = 0;
  Duration time;
};

}  // namespace ddpsim
