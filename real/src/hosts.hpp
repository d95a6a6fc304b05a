// Which ranks share a host, as they tell each other through the store.
#pragma once

#include <string>

#include "store.hpp"

namespace ddpsim {

/// Names this boot of this host: processes that share it share GPUs and the monotonic clock, whatever containers they are
/// in.
std::string boot_id();

/// Every rank says so, once.
void tell_host(StoreClient& store, int rank, const std::string& boot);
/// Throws JobEnded.
bool on_host_of_rank_0(StoreClient& store, const std::string& boot);
/// How many ranks below this one are on its host. Throws JobEnded.
int local_rank_among(StoreClient& store, int rank, const std::string& boot);

}  // namespace ddpsim
