// What the recorded job did, beside what is predicted for the very same: where the two contradict each
// other, the cluster is not the one recorded, or the answer is about other buckets.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/job.hpp"

namespace ddpsim {

/// Options that give certain buckets; absent ones are not passed.
struct BucketSetting {
  TorchVersion torch;
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

struct RecordedBucket {
  Bytes bytes;         ///< on the wire
  Duration duration;   ///< as recorded: with the wait for the last rank
  Duration predicted;  ///< the transfer alone, on this job's cluster
};

struct RecordedToday {
  std::vector<RecordedBucket> buckets;  ///< launch order
  int ranks = 1;                        ///< of the recorded job
  int channels = 0;                     ///< of its all-reduces; 0 where not recorded
  int predicted_channels = 0;           ///< 0 where nothing chooses them
  /// As many ranks of the same GPU as here: recorded and predicted times are of the same work.
  bool comparable = false;
  bool same_buckets = true;  ///< the job, as its options have it, launches buckets of these bytes
  /// Where it does not although nothing else was asked for: options that do; absent where no cap gives them
  /// under any version it may be.
  std::optional<BucketSetting> setting;
  bool asked_otherwise = false;  ///< by options that change buckets: others are then no surprise

  Duration recorded() const;
  Duration predicted() const;
};

/// Absent where no all-reduce was recorded.
std::optional<RecordedToday> recorded_today(const Job& job);

}  // namespace ddpsim
