// How long a job's step waits for data, and why. sim/data/supply_chain.hpp describes the model.
#pragma once

#include <optional>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/data_loader.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct DataSupply {
  /// The wait is simulated: from a loader, or from workers that were the bottleneck of the
  /// recording.
  bool simulated = false;
  /// As asked for, with defaults filled in.
  DataLoader loader;
  int batches = 1;  ///< micro-batches of a step
  /// Time of a worker to read and decode a batch if nothing else runs.
  Duration worker_time;
  /// Time per batch that the loader gives if steps are infinitely fast. Zero if the recording
  /// hardly waited: then only an upper bound is known, its step.
  Duration interval;
  /// Time of the step on the GPU if every batch is there.
  Duration step_without;
  /// Wait of a step for its batches.
  Duration wait;
  /// Time of a step for the copies of its batches to the GPU.
  Duration copy;
  SupplyCause cause = SupplyCause::none;
  /// The least number of workers with which the step waits for no batch. Absent: no number is
  /// enough.
  std::optional<int> least_workers;
  Duration first_wait;  ///< of the first step of an epoch
  /// Steps of an epoch until they take their steady time.
  int warm_up_steps = 0;
  /// How much longer these steps take than steady ones.
  Duration warm_up_extra;
  int nodes = 1;  ///< that read from storage
  /// Read rate of all ranks together if no step waits. Absent without storage.
  std::optional<Bandwidth> storage_demand;
  /// Wait of the recorded trainer. Only set without a loader.
  std::optional<DataLoading> recorded;
  Duration stall() const { return wait + copy; }
};

/// Data supply of a job that has SimulationOptions::data_loader, or whose recorded step waited for
/// data. `step` is the time of its step if every batch is there; `host_step` is the host's time to
/// launch it, if known. Absent: nothing is known about its data.
std::optional<DataSupply> data_supply(const Job& job, Duration step,
                                      std::optional<Duration> host_step);

/// Computes only the wait and the copy of data_supply().
struct SupplyStall {
  Duration wait;
  Duration copy;
  Duration both() const { return wait + copy; }
};
/// Which ranks share storage and cores with this one.
enum class SharedWith { all_ranks, nobody };
SupplyStall supply_stall(const Job& job, Duration step, std::optional<Duration> host_step,
                         SharedWith shared = SharedWith::all_ranks);

/// Longest time that a worker may take for a batch, with all other ranks reading from the same
/// storage.
inline constexpr double kLongestBatchSeconds = 600;
/// Seconds that a worker takes for a batch of `samples` samples, as a double: only used to refuse
/// times that are too long.
double seconds_of_a_batch(const DataLoader& loader, double samples, const Cluster& cluster);

/// The part of a recorded pause between steps that was a wait for data. It is not replayed if a
/// loader is simulated instead.
Duration replaced_pause(const Job& job, const Recorded& recorded);

}  // namespace ddpsim
