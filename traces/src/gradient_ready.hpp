// One training step out of the records: when each gradient was written, and the windows around it.
//
// The rules, which the published ground truth of the open traces follows to the nanosecond:
//   A GPU activity belongs to the step whose ProfilerStep span holds its launch.
//   Without markers a step goes from the end of one Optimizer.step to the end of the next; with at
//   most one of those, the whole trace is a step.
//   Backward compute: activities other than NCCL launched by an autograd thread, a thread that runs
//   `autograd::engine::evaluate_function` (before PyTorch 1.10: AccumulateGrad and operations named
//   …Backward). The thread that called backward() runs the nodes of CPU tensors and is none, unless no
//   other thread ran any. Backward starts with the first of them and ends with the
//   last one launched before the end of the last autograd node; what that thread launches later are
//   copies out of the buckets. A gradient is ready on the host when the inner AccumulateGrad ends,
//   and on the device when the last activity launched by then has ended. With DDP hooks the outer
//   event also holds the copy into the bucket: the same rule, with the outer end, says when that
//   copy is done.
//   The reducer's all-reduces are those an autograd thread calls in the hooks of AccumulateGrad or
//   after the last node: one inside another node is that node's own (SyncBatchNorm, tensor
//   parallelism), and integers are never gradients.
//   Where there are none of these, the gradients' all-reduces are those that torch.compile's nodes call, or
//   those that another thread calls after backward, if they carry as many elements as there are gradients.
//   A gradient comes out of a compiled node when no other node ran between that one and its
//   AccumulateGrad: torch.compile's backward hands all its gradients over when it has ended.
// It stops being true where backward work is launched by another thread (reentrant checkpointing on
// the calling thread).
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
  const RecordedTensor* tensor = nullptr;    ///< null where shapes were not recorded
  bool compiled = false;                     ///< came out of a compiled node
};

struct RecordedStep {
  std::string name;
  std::int64_t first_ns = 0;                ///< first GPU activity
  std::int64_t last_ns = 0;                 ///< end of the last one
  std::int64_t backward_start_ns = 0;       ///< first activity of backward compute
  std::int64_t backward_end_ns = 0;         ///< its end
  std::int64_t backward_called_ns = 0;      ///< the host launches that first activity
  std::int64_t backward_returned_ns = 0;    ///< the host ends the last node
  std::int64_t copies_end_ns = 0;           ///< end of the last activity of the autograd threads
  std::vector<RecordedGradient> gradients;  ///< in execution order
  std::int64_t nccl_kernels = 0;
  std::vector<Collective> collectives;        ///< every NCCL kernel, in order of launch
  std::vector<Collective> reducer;            ///< the gradients' all-reduces
  ReducedBy reduced_by = ReducedBy::reducer;  ///< what called them
  bool sync_batchnorm = false;                ///< its nodes made those others
  std::int64_t other_all_reduces = 0;         ///< of backward: inside nodes, and not in `reducer`
  std::int64_t unclaimed =
      0;  ///< kernels of backward that are all-reduces by their name, and neither of these …
  std::string unclaimed_operation;             ///< … and what calls the first of them
  std::vector<Collective> calls;               ///< on the host, in order of start
  std::optional<std::int64_t> last_bucket_ns;  ///< the host calls the reducer's last all-reduce
  std::vector<Collective> broadcasts;          ///< launched by other threads before backward
  std::vector<Bytes> bucket_bytes;  ///< gradients in the reducer's calls; empty where not recorded
  std::optional<Dtype> reduced;     ///< type of all the reducer's all-reduces, where recorded
  /// `reduced` where it is not the gradients' own: a communication hook cast them.
  std::optional<Dtype> wire;
  BusyTime busy;
};

/// First GPU activity launched in a step; absent where there is none.
std::optional<std::int64_t> first_activity(const TraceRecords& records, std::size_t step);

/// Absent where the step holds no gradient or no backward work on the GPU.
std::optional<RecordedStep> recorded_step(const TraceRecords& records, std::size_t step);

}  // namespace ddpsim
