// torch.nn.SyncBatchNorm in place of every BatchNorm: what its layers exchange, and where in a step
// (torch/nn/modules/_functions.py, the same in 1.13 and 2.13; older ones where said).
//
//   forward   statistics of the layer | all-gather of mean, 1/std and count, 2 C + 1 floats of each rank | the host reads
//             which ranks had samples | normalisation
//   backward  sums over the layer | all-reduce of 2 C floats | gradient of the input
//
// Each blocks the compute stream, and the layers' group is DDP's: a layer's all-reduce queues behind buckets in flight.
// Micro-batches under no_sync() exchange as much. One rank alone exchanges nothing.
//
// With convert_sync_batchnorm(model, process_group) of fewer ranks, whole nodes here, or of all of them again, the layers have
// communicators of their own and with them a stream of their own (ProcessGroupNCCL.cpp): an exchange is beside the bucket
// in flight, shares links with it, and waits for none. All groups are taken to be as far: what lasts of the differences between
// ranks DDP's buckets collect anyway.
//
// What is assumed: a layer's forward lies as far from the end of forward as its gradient from the start of backward.
// Where it is known what the host launches for the model, it never gets far ahead: each read takes its lead away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// The job as the layers' process groups see it. Precondition: cannot_synchronise is absent.
Job batch_norm_job(const Job& job);

/// Weights of the layers that exchange, in the order in which backward writes their gradients; none where they are
/// in the recording.
std::vector<std::size_t> synced_layers(const Job& job);

/// Of one layer, as CollectiveKind counts it.
Bytes gathered_statistics(const Parameter& weight, int ranks);
Bytes reduced_statistics(const Parameter& weight);

/// Kernels of a layer beyond BatchNorm's, launched from Python without autograd: fill of the count, cat; behind the reads
/// the statistics of all ranks, the count's conversion and the normalisation; in backward cat and the gradient.
inline constexpr int kStatisticsKernels = 2;
inline constexpr int kNormalisationKernels = 3;
inline constexpr int kSumsKernels = 2;

/// How often the host waits for the GPU in a layer's forward: indexing by a mask, of three tensors; before, the sum of
/// all counts, once (1.13 was read, and 1.1 to 1.8; in between it is taken to be as before).
int blocking_reads(TorchVersion torch);

/// By synced layer: the share of forward that lies in front of its all-gather.
std::vector<double> shares_of_forward(const Recorded& recorded,
                                      const std::vector<std::size_t>& layers);

/// Why its collectives cannot be laid into this step, with what would help.
std::optional<std::string> cannot_synchronise(const Job& job);

}  // namespace ddpsim
