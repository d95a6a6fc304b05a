// What the recorded job did, compared with the prediction for the same job. If the two contradict
// each other, the cluster is not the recorded one, or the answer is about other buckets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/step_spread.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Options that give certain buckets. Absent ones are not passed.
struct BucketSetting {
  TorchVersion torch;
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

struct RecordedBucket {
  Bytes bytes;  ///< on the wire
  /// `least`, `median` and `most` are over the recorded steps. With one rank they include its wait
  /// for the last rank.
  Duration least;
  Duration median;
  Duration most;
  /// The transfer alone, on this job's cluster.
  Duration predicted;
};

struct RecordedJob {
  std::string torch;  ///< version recorded with; empty if not known
  std::optional<NcclVersion> nccl{};
  std::vector<RecordedBucket> buckets;  ///< launch order
  int ranks = 1;                        ///< of the recorded job
  /// Whether recorded times are the times of transfers alone, because the recordings of all ranks
  /// were joined. False: they include waits for other ranks.
  bool waits_apart = false;
  /// Recorded steps with all-reduces of these bytes.
  std::size_t steps = 1;
  /// How the recorded steps vary. Absent if fewer than two are known.
  std::optional<StepSpread> iterations;
  /// Micro-batches of a step; the recorded buckets belong to the last one.
  int micro_batches = 1;
  int channels = 0;            ///< of its all-reduces; 0 if not recorded
  int predicted_channels = 0;  ///< 0 if nothing chooses them
  /// Whether the recording has the same number of ranks of the same GPU. Recorded and predicted
  /// times are then of the same work.
  bool comparable = false;
  /// Whether the cost model was fitted to the recorded all-reduces. Agreement then proves nothing.
  bool fitted_to_recorded = false;
  /// Whether the job, with its options, launches buckets of these bytes.
  bool same_buckets = true;
  /// Options that would give the recorded buckets, if the job launches others although nothing else
  /// was asked for. Absent if no cap gives them under any version that may run.
  std::optional<BucketSetting> setting;
  /// Options that change buckets were given, so different buckets are no surprise.
  bool asked_otherwise = false;
  /// The recorded buckets, if the job's own differ. They come from `setting`, or else from cutting
  /// the gradients in ready order at the recorded bytes. Empty if no cut has these bytes.
  std::vector<Bucket> others;

  /// Sums over the buckets; recorded() sums the medians.
  Duration recorded() const;
  Duration predicted() const;
};

/// Whether a transfer may take the predicted time. If transfers were recorded alone: between the
/// shortest and the longest recorded, extended by the 10 % to which they repeat. If waits are
/// included: no longer than the shortest recorded.
bool is_inside(const RecordedBucket& bucket, bool waits_apart);

/// Absent if no all-reduce was recorded.
std::optional<RecordedJob> recorded_job(const Job& job);

/// The job with the buckets that it ran, if they are known and no others were asked for.
Job as_recorded(const Job& job, const RecordedJob& current);

}  // namespace ddpsim
