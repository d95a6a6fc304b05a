// What a user can change in a job without touching model or cluster, as PyTorch or NCCL takes it:
// DDP options, communication hooks, NCCL's environment.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gain.hpp"

namespace ddpsim {

/// Argument of fully_shard() for a script that already passes a mesh.
inline constexpr const char* kOwnMesh = ", mesh=mesh";

struct Setting {
  /// As written if that is short: "broadcast_buffers=False".
  std::string name;
  Change change;
  /// Line to put before the call: "NCCL_ALGO=Tree"; to unset: "NCCL_ALGO".
  std::string before = {};
  std::string argument = {};  ///< argument of DistributedDataParallel
  /// Line to put after the call, with "model" as the wrapped model: "model.register_comm_hook(…)".
  std::string after = {};
  bool changes_numerics = false;
  bool changes_batch = false;  ///< the optimizer sees another batch
  std::string note = {};       ///< what else it changes; usually empty
  bool nccl_variable = false;  ///< `before` is an NCCL variable
  /// Collectives use other algorithms or channels. NCCL's own choice was measured, this one was
  /// not.
  bool other_collectives = false;
  bool sets_buckets = false;
  /// Changes the script's DataLoader: batches come sooner.
  bool loads_data = false;
  bool spares_host = false;  ///< the GPU waits less for launches
  /// Why it may save anything from nothing up to the prediction; usually empty. A sentence without
  /// a full stop.
  std::string only_a_run_tells = {};
  /// What it changes in the script that no setting holds: "the DataLoader of your script".
  std::string by_hand = {};
  /// How long the recorded trainer waited. Its launches hide how much of this the GPU stood still.
  Duration may_save = {};
  /// For schemes other than DDP, the call that takes `argument` in place of "{}":
  /// "FullyShardedDataParallel(model, {})". "{mesh}" takes the argument of that name alone, instead
  /// of kOwnMesh. A setting without an argument replaces the calls of those that have one.
  std::string call = {};
  /// Import statements that the line needs. A user's script already imports torch,
  /// torch.distributed and DistributedDataParallel.
  std::vector<std::string> imports = {};
};

/// A change that applies `set` to the options of a job.
template <typename Set>
Change of_options(Set set) {
  return [set](const Job& job) {
    SimulationOptions options = job.options();
    set(options);
    return job.with(std::move(options));
  };
}

/// Whether this job's PyTorch, NCCL and cluster can run it with its options. A failure that
/// `current` has too does not count.
bool is_possible(const Job& job, const Job& current);

/// The settings that this job's PyTorch, NCCL and cluster support and that are not current, except
/// caps.
std::vector<Setting> settings_of(const Job& job);

/// One line to paste that applies all settings, imports first: "from … import …; model =
/// DistributedDataParallel(model, …); model.register_comm_hook(…)". NCCL's variables alone give a
/// shell line, "export NCCL_ALGO=Tree".
std::string python_of(const std::vector<Setting>& settings);
/// Traits of all settings together.
ChangeTraits traits_of(const std::vector<Setting>& settings);
/// Applies the settings one after the other.
Change together(const std::vector<Setting>& settings);

}  // namespace ddpsim
