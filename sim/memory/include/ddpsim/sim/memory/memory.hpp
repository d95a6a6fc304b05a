// The largest memory of a rank in a step of a running training, part by part: job -> peak. A pure
// function of sizes.
//
// Always in memory:
// - parameters, module buffers, the optimizer's state
// - DDP's buckets, with one element for each of their gradients; a sparse gradient has none
// - powerSGD_hook's error of each bucket with its P and Q
//
// In addition, in backward, between each two gradients:
// - activations and gradients of activations, as the workload says (Activations::held)
// - gradients, each from the time it is written
// - a compression hook's copy of each full bucket
// - while powerSGD_hook reduces a bucket: its copy of the bucket, the next error and what travels
//   whole
//
// If the workload does not say what activations hold, it is what forward keeps, plus the gradient
// just written. An equal share of it is released with each gradient, which is as good as releasing
// it by time.
//
// In the optimizer: all gradients, and the temporaries of its kernels.
//
// In averaging (local SGD), after the optimizer: all gradients and the next averaged tensor.
// Parameters are views of the tensor averaged last.
//
// In rebuild, DDP's second forward: old and new buckets, if gradients that were not set to None are
// in the old ones.
//
// An optimizer in backward has no moment of its own. Its parameters step in backward, bucket by
// bucket, one after the other, and their gradients outside the bucket are freed.
//
// With gradient_as_bucket_view, a gradient is part of its bucket. Otherwise it is outside it, and
// from PyTorch 2.0 on (set_to_none=True) zero_grad() frees it before forward. Older versions never
// free it. When accumulating, gradients exist from the first micro-batch on. If they were freed,
// they stay outside the buckets until each is copied, because no_sync() fills no buckets.
//
// Sources: torch/csrc/distributed/c10d/reducer.cpp (initialize_buckets frees the buckets before it
// makes new ones), torch/optim and default_hooks.py. On GPUs from 2.0 on, torch/optim uses foreach
// kernels: Adam's denominator, or gradients plus weight decay, is one more copy of all parameters.
// Before that, and on CPUs, it is a copy of one or two parameters. tests/cli/test_memory.py
// compares the result with what the profiler saw allocated on a CPU.
//
// Not counted: workspaces of cuDNN and cuBLAS, free pieces in the caching allocator that nothing
// fits in, and the CUDA context (300 to 500 MB). If held is unknown, gradients of activations are
// not counted either.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Computed exactly from shapes, except activations.
struct MemoryParts {
  Bytes parameters;
  Bytes buffers;
  Bytes gradients;  ///< outside the buckets
  Bytes buckets;
  /// A compression hook's casts; powerSGD_hook's error, P, Q and copies; local SGD's averaged
  /// tensor.
  Bytes hook;
  Bytes optimizer;  ///< its state
  Bytes temporaries;
  std::optional<Bytes> activations;  ///< absent if unknown

  Bytes known() const;  ///< sum of all known parts
};

/// `forward` is its end.
enum class PeakMoment { forward, backward, optimizer, rebuild, averaging };
/// "forward", "backward", "optimizer", "rebuild", "averaging".
std::string_view name_of(PeakMoment moment);

/// The largest memory within a part of the step.
struct MemoryMoment {
  PeakMoment at = PeakMoment::forward;
  MemoryParts parts;
};

struct PeakMemory {
  PeakMoment at = PeakMoment::backward;
  MemoryParts parts;  ///< at that moment
  /// PyTorch's allocator rounds up to multiples of 512 bytes. With `parts`, this is
  /// torch.cuda.max_memory_allocated().
  Bytes rounding;
  /// The allocator takes whole segments from CUDA: 2 MiB for requests below 1 MiB, 20 MiB below 10
  /// MiB, otherwise multiples of 2 MiB. Nothing is known for activations.
  ///
  /// Under FSDP, this includes memory that streams do not lend each other. Sharded gradients, and
  /// what FSDP1 casts them from, are requested on the stream that reduces. Nothing else fits in
  /// there after they are freed (foreach_reduce in _fsdp_collectives.py, _post_backward_hook in
  /// _runtime_utils.py). It also includes a unit that FSDP1 has freed but the GPU still reads.
  Bytes segments;
  /// NCCL's buffers of every channel, outside the allocator.
  Bytes nccl;
  /// Memory of the host, if a scheme keeps shards there; not part of `total`.
  Bytes host;
  /// In the order of the step. The largest is the peak.
  std::vector<MemoryMoment> moments;
  /// The largest sum of all parts while each gradient is computed, in the order of
  /// Backward::ready. One more may follow: after the last gradient.
  std::vector<Bytes> by_gradient;
  std::optional<Activations> activations;  ///< at the end of forward; absent if unknown
  OptimizerSetting optimizer;

  Bytes allocated() const { return parts.known() + rounding; }
  /// All memory of the GPU. A lower bound if activations are unknown.
  Bytes total() const { return allocated() + segments + nccl; }
};

/// Precondition: cannot_simulate(job) is absent.
PeakMemory peak_memory(const Job& job);

}  // namespace ddpsim
