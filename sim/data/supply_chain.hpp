// Batch after batch through a DataLoader, as torch/utils/data/dataloader.py (2.13) passes them on:
//
//   tasks    num_workers x prefetch_factor are handed out at the start of an epoch, to workers in turn; whenever the
//            trainer takes a batch one more goes to the next worker
//   workers  each works off its own queue, one task at a time: samples are read and decoded, one after the other
//   pinning  one thread, in the order in which batches come from the workers
//   trainer  takes batches in order, whatever order they come in; copies each to the GPU, in front of the step
//
//   start(k) = max(batch k there, end(k-1)) + copy        end(k) = start(k) + step
//
// The trainer asks for batch k+1 when step k is over, or, some steps ahead, when it has launched it. A copy that blocks (not
// non_blocking, or of memory that is not pinned) holds the host up until the step before is over.
//
// All ranks of a node load alike, so that one of them has its part of the storage and of the cores. A batch has many samples,
// and workers are not in step: n of them that are busy, each with a batch of R to read alone and D to decode, advance at
//
//   min(1, (R + D) / (n R), (R + D) / (n D) * cores / ranks)       of what one alone would
//
// Not seen: queues of processes (tens of us a batch), page caches, other ranks out of step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// One rank's part of the chain, by batch.
struct SupplySetting {
  int workers = 0;
  int prefetch = 2;
  Duration read;    ///< with the rank's part of the storage to itself
  Duration decode;  ///< on a core of its own
  /// The rank's part of the node's cores, as a fraction; absent: one for each worker.
  struct Cores {
    std::int64_t of_node = 1;
    std::int64_t ranks = 1;
  };
  std::optional<Cores> cores;
  std::optional<Duration> pin;  ///< absent: not pinned
  Duration copy;
  bool blocking_copy = true;
  Duration worker_start;
  int steps_ahead = 0;
  Duration host_step;  ///< what the host takes to launch a step: of one that is ahead
};

class SupplyChain {
 public:
  explicit SupplyChain(const SupplySetting& setting);

  /// What one batch makes the GPU wait in front of its step.
  struct Stall {
    Duration wait;  ///< for the batch
    Duration copy;
    Duration both() const { return wait + copy; }
    bool operator==(const Stall&) const = default;
  };
  /// The next batch of the epoch, for a step (or micro-batch) that takes the GPU so long.
  Stall next(Duration step);

 private:
  struct Worker {
    std::deque<std::int64_t> queue;  ///< the first of them is in work
    Duration left;                   ///< of what it would take alone
  };
  void hand_out();
  void begin(Worker& worker) const;
  void run_until(Duration instant);
  std::optional<Duration> to_next_change() const;
  void pass(Duration time);
  Duration taken(std::int64_t batch, Duration asked);
  double rate() const;

  const SupplySetting setting_;
  std::vector<Worker> workers_;
  std::map<std::int64_t, Duration> there_;  ///< batches that are, and the trainer has not taken
  std::int64_t handed_out_ = 0;
  std::int64_t batch_ = 0;
  Duration now_;  ///< of the workers
  Duration pin_free_;
  Duration asks_;  ///< when the trainer does, next
  Duration gpu_free_;
  std::deque<Duration> ends_;  ///< of the last steps
};

/// What a chain settles into: the mean over whole rounds of its workers, once two in a row take the same.
SupplyChain::Stall steady_stall(const SupplySetting& setting, Duration step);

}  // namespace ddpsim
