// The recorded step of one rank, taken apart: what compute took by itself, what DDP added, what
// NCCL slowed.
//
// Nothing here depends on the cluster, the buckets or the options under study, so a recording
// always means the same. Times are those of the GPU recorded on. Under a compiled backward
// (compiled.hpp), the gradients of a piece are written together: the first one gets the time of all
// of them, the others get none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "kernel_costs.hpp"

namespace ddpsim {

/// One gradient, in the order of execution. `waited` and `compute` together lead from the end of
/// the one before to the time at which this gradient is written.
struct GradientInterval {
  std::size_t parameter;
  Bytes bytes;
  Duration waited;  ///< for launches
  Duration compute;
  Duration waited_copy;  ///< for the launch of the copy
  Duration idle;         ///< before the copy, for another reason
  /// Kernel that copies into the bucket. Zero if the recording has none.
  Duration copy;
  /// Instant on the backward clock at which the gradient was written.
  Duration at;
  /// Instant at which the host came to it.
  Duration host;
  /// How long the GPU had held the host up until then.
  Duration held;
  std::int64_t kernels;  ///< launched for it; 0 if not known
};

class Recording {
 public:
  /// `recorded` is the job's workload itself or one of its ranks.
  Recording(const Job& job, const Recorded& recorded);

  const Workload& workload() const { return workload_; }
  /// Number of gradients. They are taken apart when they are asked for, because for a model of a
  /// million parameters they would be the largest part of a step.
  std::size_t gradients() const { return recorded_.backward->ready.size(); }
  GradientInterval gradient(std::size_t k) const {
    return intervals_.empty() ? taken_apart(k) : intervals_[k];
  }
  /// Takes all gradients apart now and keeps them, for callers that read each of them several
  /// times.
  void take_apart();
  Duration after_last_gradient() const;
  Duration waited_after_last() const;
  /// DDP's parameters without a gradient, ascending.
  const std::vector<std::size_t>& unused() const { return unused_; }
  bool is_unused(std::size_t parameter) const {
    return std::binary_search(unused_.begin(), unused_.end(), parameter);
  }
  /// Whether the recording contains DDP's copies and buffer copies.
  bool has_hooks() const { return with_.ddp_hooks; }
  /// Dtype to which a communication hook cast gradients in the recording.
  std::optional<Dtype> wire() const { return with_.wire; }
  /// Whether the recorded forward contains NCCL's buffer broadcast.
  bool has_buffer_broadcast() const { return with_.buffer_broadcast.has_value(); }

  /// Time of forward without its waits for launches. `with_buffers` includes what the recording
  /// contains of the buffer broadcast.
  Duration forward(bool with_buffers) const;
  /// Time that forward waited for launches.
  Duration waited_in_forward() const;
  Duration buffer_broadcast() const { return with_.buffer_broadcast.value_or(Duration()); }
  Duration recorded_forward() const { return recorded_.forward.value_or(Duration()); }
  Duration backward() const { return recorded_.backward->duration; }
  /// Time of the optimizer without its waits for launches.
  Duration optimizer() const {
    return recorded_.optimizer.value_or(Duration()) - waited_in_optimizer();
  }
  Duration waited_in_optimizer() const {
    return std::min(recorded_.launch_waits.optimizer, recorded_.optimizer.value_or(Duration()));
  }
  /// Absent if launches were not counted.
  const std::optional<Launches>& launches() const { return recorded_.launches; }
  /// Whether times of the host were recorded. Otherwise the host is assumed to be one forward ahead
  /// of the GPU.
  bool has_host() const { return !recorded_.host_ready.empty(); }

  /// Time of all copies out of the buckets. Absent if they were not recorded.
  ///
  /// The recording shows only the time after the exposed tail of communication. While the last
  /// bucket was in transfer, the gradients of the other buckets were already copied. If those
  /// copies suffice to fill the tail, the total is recorded + exposed, otherwise recorded / (share
  /// of the last bucket).
  std::optional<Duration> copies_out() const;

  /// Host times at which the buckets were launched, if the recording had exactly these buckets.
  std::optional<std::vector<Duration>> instants_launched(const std::vector<Bucket>& buckets) const;

 private:
  struct SlowInterval {
    Duration start;
    Duration end;
    double loss;  ///< share of compute speed lost
  };
  void note_slow_intervals(const SimulationOptions& options, int sms);
  GradientInterval taken_apart(std::size_t k) const;
  void note_copies();
  void join_pieces(const std::vector<std::size_t>& ends);
  void note_unused();
  /// When the work for gradient `k` began: the one before had been written and copied. For 0, the
  /// start of backward.
  Duration reached_before(std::size_t k) const;
  Duration waited_of(Duration interval) const {
    return waited_share_ > 0 ? interval.scaled(waited_share_) : Duration();
  }
  double waited_share() const;
  Duration without_slowdown(Duration from, Duration to) const;
  /// Compute between two instants, without the waits for launches.
  Duration work_between(Duration from, Duration to) const;
  /// Bytes of gradients that a recorded all-reduce carried.
  Bytes gradients_of(const RecordedCollective& collective) const;
  bool in_ddp(std::size_t parameter) const { return is_reduced(workload_.parameters[parameter]); }

  const Workload& workload_;
  const std::vector<Bytes>& bytes_;  ///< by parameter
  const Recorded& recorded_;
  const RecordedWith& with_;
  const KernelCosts kernels_;
  std::vector<SlowInterval> slow_;
  /// Share of backward without its copies that is a wait for launches.
  double waited_share_ = 0;
  /// For each gradient, the kernel that copies it into a bucket. Empty if none are recorded.
  std::vector<Duration> copies_;
  std::vector<std::size_t> unused_;
  std::vector<GradientInterval> intervals_;  ///< of all gradients, or empty
  bool in_pieces_ = false;                   ///< backward is compiled
};

}  // namespace ddpsim
