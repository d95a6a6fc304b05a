// torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook, once start_powerSGD_iter is past: what it makes of a bucket.
//
// A gradient is viewed as a matrix of its first dimension by the rest, n x m, and taken for a product of two factors of
// rank r = min(n, m, matrix_approximation_rank):
//
//   M = P Q^T,  compressed where  (n + m) r min_compression_rate < n m;  all others travel whole, in one piece
//
// One bucket, in order (alike in 1.8 to 2.13, for which all-reduces are what tests/cli/test_power_sgd.py compares):
//
//   current stream   M += error; copy of M; cat of what travels whole; orthogonalise each Q; P = M Q
//   all-reduce       what travels whole
//   callback         divide it, copy it back
//   all-reduce       all P
//   callback         orthogonalise each P; Q = M^T P
//   all-reduce       all Q
//   callback         divide Q; M = P Q^T; the host waits until the device has done everything
//                    error = copy - M
//
// NCCL's futures are complete once the kernel is enqueued, so that each callback runs at once, on the host thread that
// walks backward (ivalue::Future::addCallback; pytorch/pytorch#42869), and the last one calls torch.cuda.synchronize (1.8 to
// 2.13). Nothing of backward behind the bucket has been launched then: compression and its three all-reduces stand
// between one part of backward and the next, and chains of two buckets never interleave. gloo's futures complete in its
// threads instead: there, with several buckets, training stops or ranks mix their all-reduces up (seen in
// trials of 1.13, a stop once of 2.13).
//
// Gram-Schmidt, column by column, takes 6 r - 4 kernels; from 1.12 on float32 of three columns or more goes to
// torch.linalg.qr. Products read or write M once; r/2 operations a byte at most, so memory decides:
// bytes / bandwidth + flops / peak, as in models' roofline.
//
// Never seen on a GPU here. pytorch/pytorch#74148 (ResNet-50, two V100 a node, 3 Gb/s; neither rank nor batch said) has 3.5 of
// 4 GPUs, 5.23 of 6, 5.46 of 8; with rank 1 this says 3.3 to 3.6, 4.8 to 5.3, 6.1 to 7.0 for 32 to 128 images a GPU.
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

/// Absent where the gradient travels whole. Precondition: cannot_compress is absent for its workload.
std::optional<LowRank> low_rank(const Parameter& parameter, const PowerSgd& setting);

/// Elements of a bucket's three all-reduces.
struct LowRankElements {
  std::int64_t whole = 0;
  std::int64_t p = 0;
  std::int64_t q = 0;
};
LowRankElements low_rank_elements(const Workload& workload, const Bucket& bucket,
                                  const PowerSgd& setting);

/// Where the hook itself would fail: sparse gradients, scalars, gradients of no elements, whole numbers.
std::optional<std::string> cannot_compress(const Job& job);

BucketHook power_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

}  // namespace ddpsim
