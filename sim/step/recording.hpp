// The recorded step of one rank taken apart: what compute took by itself, what DDP added, what NCCL
// slowed. Nothing here depends on the cluster, the buckets or the flags under study, so a recording means the same
// whatever is asked of it. Times are those of the GPU recorded on. Under a compiled backward (compiled.hpp) gradients of a
// piece are written together: the first of them takes what all of them took, the others nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "kernel_costs.hpp"

namespace ddpsim {

/// One gradient in execution order.
struct GradientInterval {
  std::size_t parameter;
  Bytes bytes;
  Duration waited;   ///< from the end of the one before to this gradient written: for launches …
  Duration compute;  ///< … and computing
  Duration waited_copy;  ///< for the launch of the copy
  Duration idle;         ///< before the copy starts, for another reason
  Duration copy;         ///< kernel into the bucket; zero where the recording holds none
  Duration at;           ///< instant on the backward clock at which it was written …
  Duration host;         ///< … and at which the host came to it
  Duration held;         ///< of the host's time until then, the GPU held it up
  std::int64_t kernels;  ///< launched for it; 0 where not known
};

class Recording {
 public:
  /// `recorded` is the job's workload itself or one of its ranks.
  Recording(const Job& job, const Recorded& recorded);

  const Workload& workload() const { return workload_; }
  /// Of a model of a million parameters they would be the largest part of a step: taken apart as they are asked for.
  std::size_t gradients() const { return recorded_.backward->ready.size(); }
  GradientInterval gradient(std::size_t k) const {
    return stretches_.empty() ? taken_apart(k) : stretches_[k];
  }
  /// From now on they are at hand: for as many as ask for them once each.
  void take_apart();
  Duration after_last_gradient() const;
  Duration waited_after_last() const;
  /// DDP parameters that got no gradient, ascending.
  const std::vector<std::size_t>& unused() const { return unused_; }
  bool is_unused(std::size_t parameter) const {
    return std::binary_search(unused_.begin(), unused_.end(), parameter);
  }
  /// DDP's copies and buffer copies are in the recording.
  bool has_hooks() const { return with_.ddp_hooks; }
  /// To what a communication hook cast gradients in the recording.
  std::optional<Dtype> wire() const { return with_.wire; }
  /// NCCL's buffer broadcast is in the recorded forward.
  bool has_buffer_broadcast() const { return with_.buffer_broadcast.has_value(); }

  /// Forward, without its waits for launches; `with_buffers`: including whatever it recorded of the buffer broadcast.
  Duration forward(bool with_buffers) const;
  /// What forward waited for launches.
  Duration waited_in_forward() const;
  Duration buffer_broadcast() const { return with_.buffer_broadcast.value_or(Duration()); }
  Duration recorded_forward() const { return recorded_.forward.value_or(Duration()); }
  Duration backward() const { return recorded_.backward->duration; }
  /// Without its waits for launches.
  Duration optimizer() const {
    return recorded_.optimizer.value_or(Duration()) - waited_in_optimizer();
  }
  Duration waited_in_optimizer() const {
    return std::min(recorded_.launch_waits.optimizer, recorded_.optimizer.value_or(Duration()));
  }
  /// Absent where nobody counted.
  const std::optional<Launches>& launches() const { return recorded_.launches; }
  /// The host's instants were recorded; else it is taken to be a forward ahead of the GPU.
  bool has_host() const { return !recorded_.host_ready.empty(); }

  /// All copies out of the buckets; absent where they were not recorded. What was recorded is the time
  /// they took beyond the exposed tail of communication; while the last bucket was on the wire,
  /// gradients of the others were copied already. So they took recorded + exposed where the others had
  /// copies enough to fill the tail, else recorded / (share of the last bucket).
  std::optional<Duration> copies_out() const;

  /// Host instants at which the buckets were launched, if the recording had these very buckets.
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
  /// When the next gradient's work began: the one before has been written, and copied. 0: backward's start.
  Duration reached_before(std::size_t k) const;
  Duration waited_of(Duration stretch) const {
    return waited_share_ > 0 ? stretch.scaled(waited_share_) : Duration();
  }
  double waited_share() const;
  Duration without_slowdown(Duration from, Duration to) const;
  /// Of it, compute: without the waits for launches.
  Duration work_between(Duration from, Duration to) const;
  /// Of gradients that so many bytes of a recorded all-reduce carried.
  Bytes gradients_of(const RecordedCollective& collective) const;
  bool in_ddp(std::size_t parameter) const { return is_reduced(workload_.parameters[parameter]); }

  const Workload& workload_;
  const std::vector<Bytes>& bytes_;  ///< by parameter
  const Recorded& recorded_;
  const RecordedWith& with_;
  const KernelCosts kernels_;
  std::vector<SlowInterval> slow_;
  double waited_share_ = 0;  ///< of backward but for its copies: for launches
  std::vector<Duration>
      copies_;  ///< by gradient: kernels into buckets; empty where none are recorded
  std::vector<std::size_t> unused_;
  std::vector<GradientInterval> stretches_;  ///< of all gradients, or empty
  bool in_pieces_ = false;                   ///< their backward is compiled
};

}  // namespace ddpsim
