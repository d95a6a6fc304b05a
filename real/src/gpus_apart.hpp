// Checks that no two ranks of a job use the same GPU. NCCL would refuse that late and with a less
// helpful message, or hang.
#pragma once

#include <string>

#include "store.hpp"

namespace ddpsim {

/// `gpu` is the PCI address ("0000:3b:00.0") on the host with this boot id. Every rank calls this.
/// Rank 0 compares, and throws std::runtime_error; the other ranks throw JobEnded.
void require_gpus_apart(StoreClient& store, int rank, int ranks, const std::string& gpu,
                        const std::string& boot);

}  // namespace ddpsim
