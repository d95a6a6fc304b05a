#include "gpus_apart.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

constexpr const char* kLooked = "gpus";

}  // namespace

void require_gpus_apart(StoreClient& store, int rank, int ranks, const std::string& gpu,
                        const std::string& boot) {
  const auto key_of = [](int one) { return fmt::format("gpu/{}", one); };
  if (rank != 0) {
    store.set(key_of(rank), gpu + " " + boot);
    store.get(kLooked);
    return;
  }
  std::map<std::string, int> owner = {{gpu + " " + boot, 0}};
  for (int other = 1; other < ranks; ++other) {
    const std::string theirs = store.get(key_of(other));
    const auto [place, is_new] = owner.emplace(theirs, other);
    if (!is_new)
      throw std::runtime_error(fmt::format(
          "ranks {} and {} have the same GPU, {} of one host: give each rank a GPU of its own "
          "(LOCAL_RANK, CUDA_VISIBLE_DEVICES, srun --gpus-per-task)",
          place->second, other, legible(theirs.substr(0, theirs.find(' ')))));
  }
  store.set(kLooked, "apart");
}

}  // namespace ddpsim
