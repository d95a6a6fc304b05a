// Which setting helps: everything a user can change without touching model or cluster, alone and in
// the combinations that pay. It uses the rule by which `tune` recommends a cap.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// What script and environment set for DDP and NCCL.
struct JobSettings {
  TorchVersion torch;
  int accumulate = 1;  ///< micro-batches per step
  DdpOptions ddp;
  /// Buckets are those of the recording, whatever `ddp` says about caps.
  bool recorded_buckets = false;
  std::optional<CollectiveTuning> nccl;  ///< absent if NCCL chooses nothing
};
JobSettings settings_of_job(const Job& job);

/// Name of DDP's argument that synchronises buffers before each forward. From 2.13 on it is
/// "forward_sync_buffers". The older "broadcast_buffers" is deprecated there; it means the same,
/// except for what it does to buffers at the start.
std::string_view buffers_argument(TorchVersion torch);

struct AdviceRow {
  std::vector<std::string> settings;  ///< several: all of them together
  std::string line;                   ///< to paste
  /// Current step minus the step with them, per current batch.
  Gain gain;
  /// Mean of the gain over what is not known.
  Duration expected;
  Duration regret;     ///< cost if the gain does not come true
  Duration iteration;  ///< step with them, per current batch
  /// Known change of the peak memory per GPU.
  std::int64_t memory_bytes = 0;
  /// Affects gradients, or what the optimizer sees.
  bool changes_numerics = false;
  /// The optimizer sees another batch, so it is another training.
  bool changes_batch = false;
  bool loads_data = false;  ///< changes the script's DataLoader
  /// What it changes in the script that `job_settings` does not hold; usually empty.
  std::string by_hand;
  /// Whether the rule recommends it under every PyTorch version that may run. Always true for
  /// combinations.
  bool worth = false;
  /// Why it is not worth it although it gains a measurable amount; a sentence without a full stop.
  std::string doubt;
  std::string note;  ///< what else changes; usually empty
  /// Why it is impossible, such as too little memory. Times are then not filled in.
  std::string error;
  JobSettings job_settings{};  ///< settings of the job with them
};

struct Advice {
  Duration iteration;   ///< of the current step
  Duration measurable;  ///< smaller gains cannot be told from noise
  /// Ordered by expected gain, greatest first; rows with an error come last.
  std::vector<AdviceRow> rows;
  JobSettings current{};
  /// The row with the greatest expected gain that is worth it and leaves numerics unchanged. Null
  /// if there is none.
  const AdviceRow* best() const;
  /// Finds a row by its settings, joined by " + ". Null if there is none.
  const AdviceRow* find(std::string_view settings) const;
};

struct AdviseOptions {
  TuneOptions tuning;
  /// Memory of each GPU; a row that needs more gets an error.
  std::optional<Bytes> memory;
  /// Whether bucket caps are searched. False if no cap can be predicted from this recording.
  bool caps = true;
};

/// Precondition: cannot_simulate(job) is absent.
Advice advise(const Job& job, const AdviseOptions& options);

/// The setting with the greatest expected gain that is worth it, among single settings other than
/// caps that leave the batch unchanged. It may change numerics.
std::optional<AdviceRow> best_setting(const Job& job, const AdviseOptions& options);

}  // namespace ddpsim
