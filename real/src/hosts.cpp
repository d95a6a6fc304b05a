#include "hosts.hpp"

#include <fmt/format.h>

#include <fstream>

namespace ddpsim {
namespace {

std::string key_of(int rank) {
  return fmt::format("boot/{}", rank);
}

}  // namespace

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

void tell_host(StoreClient& store, int rank, const std::string& boot) {
  store.set(key_of(rank), boot);
}

bool on_host_of_rank_0(StoreClient& store, const std::string& boot) {
  return store.get(key_of(0)) == boot;
}

int local_rank_among(StoreClient& store, int rank, const std::string& boot) {
  int local = 0;
  for (int other = 0; other < rank; ++other)
    if (store.get(key_of(other)) == boot) ++local;
  return local;
}

}  // namespace ddpsim
