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
// What is assumed: a layer's forward lies as far from the end of forward as its gradient from the start of backward.
// Left out: the host's other launches around a layer, so where kernels are short the cost is a lower bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/job.hpp"

namespace ddpsim {

/// Weights of the layers that exchange, in the order in which backward writes their gradients; none where they are
/// in the recording.
std::vector<std::size_t> synced_layers(const Job& job);

/// Of one layer, as CollectiveKind counts it.
Bytes gathered_statistics(const Parameter& weight, int ranks);
Bytes reduced_statistics(const Parameter& weight);

/// How often the host waits for the GPU in a layer's forward: indexing by a mask, of three tensors; before, the sum of
/// all counts, once (1.13 was read, and 1.1 to 1.8; in between it is taken to be as before).
int blocking_reads(TorchVersion torch);

/// By synced layer: the share of forward that lies in front of its all-gather.
std::vector<double> shares_of_forward(const Recorded& recorded,
                                      const std::vector<std::size_t>& layers);

/// Why its collectives cannot be laid into this step, with what would help.
std::optional<std::string> cannot_synchronise(const Job& job);

}  // namespace ddpsim
