// torch.nn.SyncBatchNorm in place of every BatchNorm: what its layers exchange and where in a step
// (torch/nn/modules/_functions.py). The code is the same in 1.13 and 2.13; differences in older
// versions are noted below.
//
// In forward:
// - statistics of the layer
// - all-gather of mean, 1/std and count: 2 C + 1 floats of each rank
// - the host reads which ranks had samples
// - normalisation
//
// In backward:
// - sums over the layer
// - all-reduce of 2 C floats
// - gradient of the input
//
// Each exchange blocks the compute stream. The layers use DDP's process group, so a layer's
// all-reduce queues behind buckets in flight. Micro-batches under no_sync() exchange as much. A
// single rank exchanges nothing.
//
// With convert_sync_batchnorm(model, process_group), the layers have communicators and a stream of
// their own (ProcessGroupNCCL.cpp). The group may be all ranks or, here, whole nodes. An exchange
// then overlaps the bucket in flight, shares links with it and does not wait for it. All groups are
// assumed to be equally far: DDP's buckets make ranks wait for lasting differences anyway.
//
// Assumption: a layer's forward is as far from the end of forward as its gradient is from the start
// of backward. If the host's launches for the model are known, the host never gets far ahead,
// because each read makes it wait for the GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// The job as the layers' process groups see it. Precondition: cannot_synchronise is absent.
Job batch_norm_job(const Job& job);

/// Weights of the layers that exchange, in the order in which backward writes their gradients.
/// Empty if the recording already contains the exchanges.
std::vector<std::size_t> synced_layers(const Job& job);

/// Bytes that one layer exchanges, counted as its CollectiveKind counts them.
Bytes gathered_statistics(const Parameter& weight, int ranks);
Bytes reduced_statistics(const Parameter& weight);

/// Kernels of a layer in addition to BatchNorm's, launched from Python without autograd.
/// Before the reads: fill of the count, and cat.
inline constexpr int kStatisticsKernels = 2;
/// After the reads: statistics of all ranks, conversion of the count, normalisation.
inline constexpr int kNormalisationKernels = 3;
/// In backward: cat, and the gradient.
inline constexpr int kSumsKernels = 2;

/// Number of times the host waits for the GPU in a layer's forward. Newer versions index three
/// tensors by a mask; older ones sum all counts once. 1.13 and 1.1 to 1.8 were read; versions in
/// between are assumed to be like the older ones.
int blocking_reads(TorchVersion torch);

/// By synced layer: the share of forward that comes before its all-gather.
std::vector<double> shares_of_forward(const Recorded& recorded,
                                      const std::vector<std::size_t>& layers);

/// Says why the layers' collectives cannot be placed in this step, and what would help.
std::optional<std::string> cannot_synchronise(const Job& job);

}  // namespace ddpsim
