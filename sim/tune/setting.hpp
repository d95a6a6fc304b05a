// What a user can change about a job without touching model or cluster: options of DDP, communication hooks, NCCL's
// environment. Each as PyTorch or NCCL takes it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gain.hpp"

namespace ddpsim {

/// Of fully_shard(), where the script passes a mesh already.
inline constexpr const char* kOwnMesh = ", mesh=mesh";

struct Setting {
  std::string name;  ///< as written where that is short: "broadcast_buffers=False"
  Change change;
  std::string before = {};    ///< to write before: "NCCL_ALGO=Tree"; to unset: "NCCL_ALGO"
  std::string argument = {};  ///< of DistributedDataParallel
  std::string after = {};     ///< "model" being the wrapped one: "model.register_comm_hook(…)"
  bool changes_numerics = false;
  bool changes_batch = false;  ///< the optimizer sees another one
  std::string note = {};       ///< what else it changes; mostly empty
  bool nccl_variable = false;  ///< `before` is one of NCCL's
  /// Collectives run by other algorithms or channels: NCCL's own choice was measured, this was not.
  bool other_collectives = false;
  bool sets_buckets = false;
  bool loads_data = false;   ///< of the script's DataLoader: batches come sooner
  bool spares_host = false;  ///< the GPU waits less for launches
  /// Why it may save anything from nothing up to what is predicted; mostly empty. A sentence without a full stop.
  std::string only_a_run_tells = {};
  std::string by_hand =
      {};  ///< what of the script it changes that no setting holds: "the DataLoader of your script"
  /// The recorded trainer waited so long; how much of it the GPU stood still, its launches hide.
  Duration may_save = {};
  /// Of another scheme than DDP what `argument` goes to, where "{}" stands: "FullyShardedDataParallel(model, {})". Where "{mesh}"
  /// stands, the argument of that name goes alone, in place of kOwnMesh. A setting without an argument replaces the call of those
  /// that have one.
  std::string call = {};
  /// Statements of Python that the line needs: a user's script imports torch, torch.distributed and DistributedDataParallel.
  std::vector<std::string> imports = {};
};

/// `set` changes the options of a job.
template <typename Set>
Change of_options(Set set) {
  return [set](const Job& job) {
    SimulationOptions options = job.options();
    set(options);
    return job.with(std::move(options));
  };
}

/// Whether this job's PyTorch, NCCL and cluster can run it with the options it has. What fails today already is no reason.
bool is_possible(const Job& job, const Job& current);

/// Those that this job's PyTorch, NCCL and cluster can take and that are not in force, but for caps.
std::vector<Setting> settings_of(const Job& job);

/// All of them at once, to paste, imports first: "from … import …; model = DistributedDataParallel(model, …);
/// model.register_comm_hook(…)". NCCL's variables alone are a line of shell, "export NCCL_ALGO=Tree".
std::string python_of(const std::vector<Setting>& settings);
/// Of all of them together.
ChangeTraits traits_of(const std::vector<Setting>& settings);
/// One after the other.
Change together(const std::vector<Setting>& settings);

}  // namespace ddpsim
