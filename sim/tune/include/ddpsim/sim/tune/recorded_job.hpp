// What the recorded job did, beside what is predicted for the very same: where the two contradict each
// other, the cluster is not the one recorded, or the answer is about other buckets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/step_spread.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Options that give certain buckets; absent ones are not passed.
struct BucketSetting {
  TorchVersion torch;
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

struct RecordedBucket {
  Bytes bytes;     ///< on the wire
  Duration least;  ///< over the recorded steps; of one rank, with its wait for the last …
  Duration median;
  Duration most;
  Duration predicted;  ///< the transfer alone, on this job's cluster
};

struct RecordedJob {
  std::string torch;  ///< recorded with; empty where not known
  std::optional<NcclVersion> nccl{};
  std::vector<RecordedBucket> buckets;  ///< launch order
  int ranks = 1;                        ///< of the recorded job
  bool waits_apart = false;             ///< … or, of joined ranks, the transfer alone
  std::size_t steps = 1;                ///< recorded, with all-reduces of these bytes
  std::optional<StepSpread>
      iterations;         ///< how the recorded steps vary; absent where fewer than two are known
  int micro_batches = 1;  ///< of a step, of which these are the last
  int channels = 0;       ///< of its all-reduces; 0 where not recorded
  int predicted_channels = 0;  ///< 0 where nothing chooses them
  /// As many ranks of the same GPU as here: recorded and predicted times are of the same work.
  bool comparable = false;
  /// The predicted times are those of a cost model that recorded all-reduces were fitted to: alike proves nothing.
  bool fitted_to_recorded = false;
  bool same_buckets = true;  ///< the job, as its options have it, launches buckets of these bytes
  /// Where it does not although nothing else was asked for: options that do; absent where no cap gives them
  /// under any version it may be.
  std::optional<BucketSetting> setting;
  bool asked_otherwise = false;  ///< by options that change buckets: others are then no surprise
  /// The recorded buckets where they are others: those of `setting`, else the gradients in their ready order, cut
  /// at the recorded bytes. Empty where no cut has these bytes.
  std::vector<Bucket> others;

  /// Sums over the buckets; recorded: of the medians.
  Duration recorded() const;
  Duration predicted() const;
};

/// Whether a transfer may take what is predicted. Transfers alone: from the shortest to the longest
/// recorded, and a tenth beyond, to which they repeat. With waits: no longer than the shortest.
bool is_inside(const RecordedBucket& bucket, bool waits_apart);

/// Absent where no all-reduce was recorded.
std::optional<RecordedJob> recorded_job(const Job& job);

/// The job with the buckets it ran, where they are known and nothing else is asked for.
Job as_recorded(const Job& job, const RecordedJob& current);

}  // namespace ddpsim
