// Peak memory under schemes that are not DDP's alone: what of parameters, gradients and optimizer a rank keeps, and what
// it gathers and reduces on the way.
//
//   fsdp1, fsdp2  shards of all three; gathered units as the schedule has them (the one computed, the one ahead, the root;
//                 all of them where nothing is freed after forward); gradients of the unit computed, whole, and what its
//                 reduce-scatter reads beside that of the unit before. fully_shard gathers into one buffer and copies
//                 out of it; FullyShardedDataParallel's autograd puts each flat gradient together from its parts
//   naive         as without buckets; flat: one more copy of all gradients
//   zero1, zero2  parameters whole, as computed in; fp32 copies and state of the part owned; in stage 1 gradients whole, in
//                 stage 2 the part owned; buckets of reduce_bucket_size elements, however small the model (two with
//                 overlap_comm)
//   zero3         the part owned of all, whole what persists and what is live: no more than stage3_max_live_parameters,
//                 nor than the model, which below stage3_max_reuse_distance elements is never freed; one bucket
//   megatron      parameters whole, one buffer of all gradients, fp32 copies and state of the part owned
//   data_parallel the GPU 0: gradients of its own replica, and what all replicas' were reduced to, which become those of
//                 the parameters. Inputs and outputs are not counted
//   parameter_server
//                 a worker: no optimizer where servers have it; its host's and the servers' memory is not counted
//
// Sources as in fsdp1.cpp and fsdp2.cpp. What is always there, the moments and what is not counted: memory.hpp.
#pragma once

#include "ddpsim/sim/memory/memory.hpp"

namespace ddpsim {

/// Precondition: cannot_simulate(job) is absent, and the scheme does not use the reducer.
PeakMemory scheme_memory(const Job& job);

}  // namespace ddpsim
