// No two ranks of a job on one GPU: NCCL refuses that late and in words of its own, or hangs.
#pragma once

#include <string>

#include "store.hpp"

namespace ddpsim {

/// `gpu` is where it is ("0000:3b:00.0") on the host of that boot id. Every rank calls it; throws std::runtime_error on
/// rank 0, which looks, and JobEnded elsewhere.
void require_gpus_apart(StoreClient& store, int rank, int ranks, const std::string& gpu,
                        const std::string& boot);

}  // namespace ddpsim
