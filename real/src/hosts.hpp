// Which ranks share a host. Ranks exchange this through the store.
#pragma once

#include <string>

#include "store.hpp"

namespace ddpsim {

/// Identifies this boot of this host. Processes with the same id share GPUs and the monotonic
/// clock, even if they are in different containers.
std::string boot_id();

/// Publishes the host of this rank. Every rank calls this once.
void tell_host(StoreClient& store, int rank, const std::string& boot);
/// Throws JobEnded.
bool on_host_of_rank_0(StoreClient& store, const std::string& boot);
/// Number of lower ranks on the same host. Throws JobEnded.
int local_rank_among(StoreClient& store, int rank, const std::string& boot);

}  // namespace ddpsim
