// What a job's data loading makes its step wait, and why. The chain: sim/data/supply_chain.hpp.
#pragma once

#include <optional>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/data_loader.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct DataSupply {
  bool simulated = false;  ///< the wait is: of a loader, or of workers that bound the recording
  DataLoader loader;       ///< as asked for, with what was left open filled in
  int batches = 1;         ///< of a step: its micro-batches
  Duration worker_time;    ///< of a batch: reading and decoding, with nobody else in the way
  /// A batch in so long is what the loader gives, however fast steps are. Zero: of a recording that hardly waited, not known;
  /// no more than its step.
  Duration interval;
  Duration step_without;  ///< the step with every batch there, on the GPU
  Duration wait;          ///< of a step, for its batches …
  Duration copy;          ///< … and for their copies to the GPU
  SupplyCause cause = SupplyCause::none;
  /// Fewest with which the step waits for no batch; absent: no number of workers is enough.
  std::optional<int> least_workers;
  Duration first_wait;     ///< of the first step of an epoch
  int warm_up_steps = 0;   ///< steps of an epoch until they take what they settle into
  Duration warm_up_extra;  ///< what these take beyond that
  int nodes = 1;           ///< that read from storage
  /// What all ranks read each second if no step waits; absent without storage.
  std::optional<Bandwidth> storage_demand;
  std::optional<DataLoading> recorded;  ///< what the recorded trainer waited; beside no loader
  Duration stall() const { return wait + copy; }
};

/// Of a job with SimulationOptions::data_loader, or whose recorded step waited for data; `step`: what its step takes with
/// every batch there; `host_step`: its host, to launch it, where that is known. Absent: nothing is known of its data.
std::optional<DataSupply> data_supply(const Job& job, Duration step,
                                      std::optional<Duration> host_step);

/// The wait and the copy alone; the same numbers.
struct SupplyStall {
  Duration wait;
  Duration copy;
  Duration both() const { return wait + copy; }
};
/// With whom a rank shares its storage and its cores.
enum class SharedWith { all_ranks, nobody };
SupplyStall supply_stall(const Job& job, Duration step, std::optional<Duration> host_step,
                         SharedWith shared = SharedWith::all_ranks);

/// What a worker may take for a batch, reading it beside all other ranks of its storage included.
inline constexpr double kLongestBatchSeconds = 600;
/// Seconds a batch of so many samples takes a worker, in double arithmetic: only to refuse what is longer.
double seconds_of_a_batch(const DataLoader& loader, double samples, const Cluster& cluster);

/// Of a recorded pause between steps, what was waiting for data and is not replayed because a loader is simulated.
Duration replaced_pause(const Job& job, const Recorded& recorded);

}  // namespace ddpsim
