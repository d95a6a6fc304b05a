// An epoch of a job: its steps, the batch at its end, what ranks without inputs still do.
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

/// Of SimulationOptions::data_set, with the batch that the workload states.
struct Epoch {
  DataSet set;
  SampledSet sampled;
  std::int64_t batch = 1;  ///< samples of a GPU's batch
  BatchedSet batched;      ///< micro-batches of each rank
  Duration step;           ///< with full batches
  /// Of the smaller batch, its compute in proportion to its samples: no less, as kernels of few samples use a GPU less well.
  std::optional<Duration> tail_step;
  Duration
      warm_up;  ///< waits for workers beyond settled ones: at first, and in a last round that is not whole
  Duration time;
  std::int64_t steps = 0;
};

/// A collective of an iteration under Join, as the library issues it.
struct JoinCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string_view what;  ///< "not joined yet", "bucket", …
  Dtype dtype = Dtype::float32;
  std::int64_t elements = 1;
  std::string_view op;      ///< "sum", "max"; of broadcasts empty
  bool of_join = false;     ///< nobody issues it without Join
  bool host_waits = false;  ///< and reads what came of it
};

/// Of SimulationOptions::uneven_inputs.
struct JoinedEpoch {
  UnevenInputs inputs;
  std::vector<JoinCollective> iteration;  ///< of a rank that has inputs, in order
  std::vector<JoinCollective> joined;  ///< of one that has none while others have: it shadows them
  std::vector<JoinCollective> end;     ///< when none has, or, raising, instead of an iteration
  Duration step_without;               ///< of the same job outside the context manager
  Duration step;
  Duration end_time;
  std::int64_t iterations = 0;  ///< until the last rank has joined, or raises
  std::int64_t tail = 0;        ///< of these, with ranks that have no inputs any more
  std::int64_t skipped = 0;     ///< inputs that no rank comes to, because all raise
  Duration time;
};

}  // namespace ddpsim
