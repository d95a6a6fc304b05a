// Reads one training step from the records: when each gradient was written, and the windows around
// it.
//
// These rules match the published ground truth of the open traces to the nanosecond:
//
// - A GPU activity belongs to the step whose ProfilerStep span holds its launch.
// - Without markers, a step lasts from the end of one Optimizer.step to the end of the next. With
//   at most one Optimizer.step, the whole trace is a step.
// - Backward compute is every activity except NCCL's that an autograd thread launched. An autograd
//   thread runs `autograd::engine::evaluate_function` (before PyTorch 1.10: AccumulateGrad and
//   operations named …Backward). The thread that called backward() runs the nodes of CPU tensors.
//   It counts only if no other thread ran nodes.
// - Backward starts with the first of these activities. It ends with the last one launched before
//   the end of the last autograd node. Later launches of that thread are copies out of the buckets.
// - A gradient is ready on the host when the inner AccumulateGrad ends. It is ready on the device
//   when the last activity launched by then has ended. With DDP hooks, the outer event also holds
//   the copy into the bucket. The same rule with the outer end says when that copy is done.
// - The reducer's all-reduces are those that an autograd thread calls in the hooks of
//   AccumulateGrad or after the last node. An all-reduce inside another node belongs to that node
//   (SyncBatchNorm, tensor parallelism). Integers are never gradients.
// - Without such calls, the gradients' all-reduces are those that torch.compile's nodes call. They
//   may also be those that another thread calls after backward, if they carry as many elements as
//   there are gradients.
// - A gradient comes from a compiled node if no other node ran between that node and its
//   AccumulateGrad. The backward of torch.compile delivers all its gradients when it has ended.
//
// The rules fail if another thread launches backward work (reentrant checkpointing on the calling
// thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busy_time.hpp"
#include "trace_records.hpp"

namespace ddpsim {

struct RecordedGradient {
  std::int64_t host_ns = 0;
  std::int64_t ready_ns = 0;
  std::optional<std::int64_t> hooks_end_ns;  ///< on the host, like `host_ns`
  std::optional<std::int64_t> copied_ns;     ///< absent without the outer event
  const RecordedTensor* tensor = nullptr;    ///< null if shapes were not recorded
  bool compiled = false;                     ///< came out of a compiled node
};

struct RecordedStep {
  std::string name;
  std::int64_t first_ns = 0;              ///< first GPU activity
  std::int64_t last_ns = 0;               ///< end of the last one
  std::int64_t backward_start_ns = 0;     ///< first activity of backward compute
  std::int64_t backward_end_ns = 0;       ///< its end
  std::int64_t backward_called_ns = 0;    ///< the host launches backward's first activity
  std::int64_t backward_returned_ns = 0;  ///< the last node ends on the host
  /// End of the last activity of the autograd threads.
  std::int64_t copies_end_ns = 0;
  std::vector<RecordedGradient> gradients;  ///< in execution order
  std::int64_t nccl_kernels = 0;
  std::vector<Collective> collectives;        ///< every NCCL kernel, in launch order
  std::vector<Collective> reducer;            ///< the gradients' all-reduces
  ReducedBy reduced_by = ReducedBy::reducer;  ///< what called them
  bool sync_batchnorm = false;                ///< these nodes made the other all-reduces
  /// All-reduces of backward that are inside nodes and not in `reducer`.
  std::int64_t other_all_reduces = 0;
  /// All-reduce kernels of backward, by their name, that belong to neither group.
  std::int64_t unclaimed = 0;
  std::string unclaimed_operation;  ///< operation that launched the first of them
  std::vector<Collective> calls;    ///< on the host, in order of start
  /// When the host calls the reducer's last all-reduce.
  std::optional<std::int64_t> last_bucket_ns;
  /// Broadcasts that other threads launched before backward.
  std::vector<Collective> broadcasts;
  /// Gradients in the reducer's calls; empty if not recorded.
  std::vector<Bytes> bucket_bytes;
  /// Type of all the reducer's all-reduces, if recorded.
  std::optional<Dtype> reduced;
  /// `reduced`, if it differs from the gradients' type: a communication hook cast them.
  std::optional<Dtype> wire;
  BusyTime busy;
};

/// First GPU activity launched in a step; absent if there is none.
std::optional<std::int64_t> first_activity(const TraceRecords& records, std::size_t step);

/// Absent if the step holds no gradient, or no backward work on the GPU.
std::optional<RecordedStep> recorded_step(const TraceRecords& records, std::size_t step);

}  // namespace ddpsim
