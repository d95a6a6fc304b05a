// Which lever helps: everything a user can change without touching model or cluster, alone and in the combinations that
// pay, by the same rule as `tune` recommends a cap.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// What script and environment say of DDP and NCCL.
struct JobSettings {
  TorchVersion torch;
  int accumulate = 1;  ///< micro-batches per step
  DdpOptions ddp;
  bool recorded_buckets = false;         ///< the recording's, whatever `ddp` says of caps
  std::optional<CollectiveTuning> nccl;  ///< absent where NCCL chooses nothing
};
JobSettings settings_of_job(const Job& job);

/// DDP's argument for buffers in front of each forward: "broadcast_buffers", which 2.13 deprecates and reads as
/// "forward_sync_buffers" but for what it does to them at first.
std::string_view buffers_argument(TorchVersion torch);

struct AdviceRow {
  std::vector<std::string> settings;  ///< more than one: all together
  std::string line;                   ///< to paste
  Gain gain;                          ///< today's step - the step with them, per today's batch
  Duration expected;                  ///< its mean over what is not known
  Duration regret;                    ///< what it costs where it goes wrong
  Duration iteration;                 ///< with them, per today's batch
  std::int64_t memory_bytes = 0;      ///< change of the peak per GPU; what is known of it
  bool changes_numerics = false;      ///< of gradients, or of what the optimizer sees
  bool changes_batch = false;         ///< the optimizer sees another one: another training
  bool loads_data = false;            ///< of the script's DataLoader
  std::string
      by_hand;  ///< what of the script it changes that `job_settings` does not hold; mostly empty
  /// By the rule, under every PyTorch it may be. Of combinations always.
  bool worth = false;
  std::string
      doubt;  ///< why it is not, though it gains what can be measured: a sentence without a full stop
  std::string note;  ///< what else changes; mostly empty
  std::string
      error;  ///< why it cannot be had, and then no times are filled in: it does not fit into memory
  JobSettings job_settings{};  ///< with them
};

struct Advice {
  Duration iteration;   ///< of today's step
  Duration measurable;  ///< gains below this cannot be told from noise
  /// By expected gain, the greatest first; those with an error last.
  std::vector<AdviceRow> rows;
  JobSettings current{};
  /// Of what leaves numerics as they are and is worth it, the most expected; null where nothing is.
  const AdviceRow* best() const;
  /// By its levers, joined by " + "; null where there is none.
  const AdviceRow* find(std::string_view settings) const;
};

struct AdviseOptions {
  TuneOptions tuning;
  std::optional<Bytes> memory;  ///< of each GPU: what needs more is a row with an error
  bool caps = true;             ///< false: no cap can be predicted from this recording
};

/// Precondition: cannot_simulate(job) is absent.
Advice advise(const Job& job, const AdviseOptions& options);

/// Of single levers that leave the batch as it is, but for caps, the most expected one that is worth it, whether or not it
/// changes numerics.
std::optional<AdviceRow> best_setting(const Job& job, const AdviseOptions& options);

}  // namespace ddpsim
