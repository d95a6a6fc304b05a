// What torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook does to a bucket after
// start_powerSGD_iter.
//
// A gradient is viewed as an n x m matrix: its first dimension by all others. It is approximated by
// a product of two factors of rank r = min(n, m, matrix_approximation_rank):
//
//   M = P Q^T,  compressed if  (n + m) r min_compression_rate < n m
//
// All other gradients travel whole, in one piece. The work on one bucket, in order:
//
// - current stream: M += error; copy of M; cat of whole gradients; orthogonalise each Q; P = M Q
// - all-reduce: whole gradients
// - callback: divide them, copy them back
// - all-reduce: all P
// - callback: orthogonalise each P; Q = M^T P
// - all-reduce: all Q
// - callback: divide Q; M = P Q^T; the host waits for the device; error = copy - M
//
// The order is the same in 1.8 to 2.13; tests/cli/test_power_sgd.py compares the all-reduces.
//
// NCCL's futures are complete as soon as the kernel is enqueued. So each callback runs at once, on
// the host thread that walks backward (ivalue::Future::addCallback; pytorch/pytorch#42869). The
// last one calls torch.cuda.synchronize (1.8 to 2.13). At that time no later part of backward has
// been launched. Compression and its three all-reduces therefore separate two parts of backward,
// and the work of two buckets never interleaves.
//
// gloo's futures complete in its own threads. With several buckets, training then stops or ranks
// mix up their all-reduces (seen in trials of 1.13; a stop was seen once in 2.13).
//
// Gram-Schmidt, column by column, takes 6 r - 4 kernels. From 1.12 on, float32 with three columns
// or more uses torch.linalg.qr. Products read or write M once and do at most r/2 operations a byte,
// so memory limits them: bytes / bandwidth + flops / peak, as in models' roofline.
//
// The prediction was never checked on a GPU here. The published speedups of pytorch/pytorch#74148 are
// 3.5 on 4 GPUs, 5.23 on 6 and 5.46 on 8 (ResNet-50, two V100 a node, 3 Gb/s; neither rank nor batch
// is given). With rank 1, ddpsim predicts 3.3 to 3.6, 4.8 to 5.3 and 6.1 to 7.0 for 32 to 128 images
// a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm_hook.hpp"

namespace ddpsim {

struct LowRank {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;
};

/// Absent if the gradient travels whole. Precondition: cannot_compress is absent for its workload.
std::optional<LowRank> low_rank(const Parameter& parameter, const PowerSgd& setting);

/// Elements of a bucket's three all-reduces.
struct LowRankElements {
  std::int64_t whole = 0;
  std::int64_t p = 0;
  std::int64_t q = 0;
};
LowRankElements low_rank_elements(const Workload& workload, const Bucket& bucket,
                                  const PowerSgd& setting);

/// Says why the hook itself would fail: sparse gradients, scalars, gradients without elements,
/// integers.
std::optional<std::string> cannot_compress(const Job& job);

BucketHook power_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

}  // namespace ddpsim
