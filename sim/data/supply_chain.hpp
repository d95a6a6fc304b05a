// How batches pass through a DataLoader, one after the other, as in torch/utils/data/dataloader.py
// (2.13):
//
// - tasks: num_workers x prefetch_factor are handed to workers in turn at the start of an epoch.
//   Whenever the trainer takes a batch, the next worker gets one more task.
// - workers: each works off its own queue, one task at a time. It reads and decodes the samples
//   one after the other.
// - pinning: one thread, in the order in which batches come from the workers.
// - trainer: takes batches in order, whatever order they arrive in, and copies each to the GPU
//   before the step.
//
//   start(k) = max(arrival of batch k, end(k-1)) + copy        end(k) = start(k) + step
//
// The trainer asks for batch k+1 when step k is over. If it may be some steps ahead, it asks as
// soon as it has launched step k. A blocking copy (not non_blocking, or from memory that is not
// pinned) holds the host up until the step before is over.
//
// All ranks of a node load in the same way, so one of them gets its share of the storage and of the
// cores. A batch has many samples, and workers are not in step. If n workers are busy, and each
// batch takes R to read and D to decode alone, each worker runs at
//
//   min(1, (R + D) / (n R), (R + D) / (n D) * cores / ranks)
//
// of its speed alone.
//
// Not simulated: queues between processes (tens of us per batch), page caches, ranks that are out
// of step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Times of one batch in one rank's part of the chain.
struct SupplySetting {
  int workers = 0;
  int prefetch = 2;
  /// Time to read with the rank's share of the storage.
  Duration read;
  Duration decode;  ///< on a core of its own
  /// Cores of a node and the ranks that share them. Absent: one core per worker.
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
  /// Time that a host that is ahead takes to launch a step.
  Duration host_step;
};

class SupplyChain {
 public:
  explicit SupplyChain(const SupplySetting& setting);

  /// Time that the GPU waits for one batch before its step.
  struct Stall {
    Duration wait;  ///< for the batch
    Duration copy;
    Duration both() const { return wait + copy; }
    bool operator==(const Stall&) const = default;
  };
  /// The wait for the next batch of the epoch. `step` is the GPU's time for its step or
  /// micro-batch.
  Stall next(Duration step);

 private:
  struct Worker {
    /// Numbers of batches. The worker works on the first one.
    std::deque<std::int64_t> queue;
    /// What is left of the first batch, as time alone.
    Duration left;
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
  std::map<std::int64_t, Duration> there_;  ///< arrived, not taken yet
  std::int64_t handed_out_ = 0;
  std::int64_t batch_ = 0;
  Duration now_;  ///< clock of the workers
  Duration pin_free_;
  Duration asks_;  ///< when the trainer asks next
  Duration gpu_free_;
  std::deque<Duration> ends_;  ///< of the last steps
};

/// Wait of a step in the steady state: the mean over whole rounds of workers, once consecutive
/// rounds take the same time.
SupplyChain::Stall steady_stall(const SupplySetting& setting, Duration step);

}  // namespace ddpsim
