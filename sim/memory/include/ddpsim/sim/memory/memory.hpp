// What a rank's memory holds at most in a step of a running training, part by part: job -> peak. A pure function
// of sizes.
//
// Always there: parameters, module buffers, the optimizer's state, DDP's buckets (one element for each of its
// gradients; a sparse one has none), powerSGD_hook's error of each bucket with its P and Q. Beside them, at
//
//   backward   between each two gradients what the workload says is held of activations and of gradients on their way
//              (Activations::held); gradients, each from when it is written; a compression hook's copy of each bucket
//              that is full, or, while powerSGD_hook reduces one, its copy of that, the next error and what travels
//              whole. Where nothing is said of activations: what forward keeps, an equal share released with each
//              gradient, which is no worse than by its time, and the gradient just written
//   optimizer  all gradients, and the temporaries of its kernels
//   averaging  local SGD's: behind the optimizer all gradients, and beside the parameters, which are views of the tensor
//              averaged last, the next one
//   rebuild    DDP's second forward: old buckets beside new, where gradients that were not set to None lie in the old
//
// An optimizer in backward has neither of its own moment: bucket by bucket its parameters step in backward, one after the
// other, and their gradients beside the bucket are freed.
//
// A gradient lies in its bucket with gradient_as_bucket_view; else beside it, and is freed by zero_grad() before
// forward from PyTorch 2.0 (set_to_none=True), never before that. Accumulating, gradients are there from the first
// micro-batch on; beside the buckets, until each is copied, where they were freed: no_sync() fills no buckets.
//
// Sources: torch/csrc/distributed/c10d/reducer.cpp (initialize_buckets frees the buckets before it makes new ones),
// torch/optim (foreach kernels on GPUs from 2.0: Adam's denominator, or gradients plus weight decay, as one more copy of
// all parameters; before, and on CPUs, of one or two), default_hooks.py. tests/cli/test_memory.py holds it against what
// the profiler saw allocated on a CPU.
//
// Not counted: workspaces of cuDNN and cuBLAS, what the caching allocator keeps in pieces nobody fits in, and the CUDA
// context (300 to 500 MB). Where held is not known: gradients of activations on their way.
#pragma once

#include <optional>
#include <string_view>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Exact from shapes, but for activations.
struct MemoryParts {
  Bytes parameters;
  Bytes buffers;
  Bytes gradients;  ///< beside the buckets
  Bytes buckets;
  Bytes
      hook;  ///< what a compression hook cast; powerSGD_hook's error, P, Q and copies; what local SGD averages
  Bytes optimizer;  ///< its state
  Bytes temporaries;
  std::optional<Bytes> activations;  ///< absent where not known

  Bytes known() const;  ///< their sum, without what is not known
};

enum class PeakMoment { backward, optimizer, rebuild, averaging };
/// "backward", "optimizer", "rebuild", "averaging".
std::string_view name_of(PeakMoment moment);

struct PeakMemory {
  PeakMoment at = PeakMoment::backward;
  MemoryParts parts;  ///< at that moment
  /// PyTorch's allocator hands out multiples of 512 bytes: with `parts`, what torch.cuda.max_memory_allocated() says …
  Bytes rounding;
  /// … and takes whole segments from CUDA: 2 MiB for what is smaller than 1 MiB, 20 MiB below 10 MiB, else
  /// multiples of 2 MiB. Of activations nothing is known. Under FSDP also what streams do not lend each other: sharded
  /// gradients, and what FSDP1 casts them from, are asked for on the stream that reduces (foreach_reduce in
  /// _fsdp_collectives.py, _post_backward_hook in _runtime_utils.py), where nothing else fits in once they are gone; and a unit
  /// that FSDP1 has let go of and the GPU still reads.
  Bytes segments;
  /// NCCL's buffers of every channel, outside the allocator.
  Bytes nccl;
  /// Of its host's memory, where a scheme keeps shards there; not part of `total`.
  Bytes host;
  std::optional<Activations> activations;  ///< at the end of forward; absent where not known
  OptimizerSetting optimizer;

  Bytes allocated() const { return parts.known() + rounding; }
  /// All of it; a lower bound where activations are not known.
  Bytes total() const { return allocated() + segments + nccl; }
};

/// Precondition: cannot_simulate(job) is absent.
PeakMemory peak_memory(const Job& job);

}  // namespace ddpsim
