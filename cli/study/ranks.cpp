#include "ranks.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "launcher_variables.hpp"
#ifdef DDPSIM_MPI_MODULE
#include <dlfcn.h>
#endif

namespace ddpsim {
namespace {

constexpr const char* kShards = "or run shards, each with --no-mpi, and join their files";

std::optional<int> number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : parse_number<int>(text);
}

#ifdef DDPSIM_MPI_MODULE
Ranks* load_ranks() {
  // RTLD_GLOBAL, because modules that Open MPI loads look up its symbols globally.
  void* const module = dlopen(DDPSIM_MPI_MODULE, RTLD_NOW | RTLD_GLOBAL);
  void* const found = module == nullptr ? nullptr : dlsym(module, "ddpsim_join_ranks");
  if (found == nullptr)
    throw UsageError("", fmt::format("MPI cannot be loaded: {}", dlerror()),
                     fmt::format("Install the MPI that this ddpsim was built with, {}", kShards));
  using Join = Ranks* (*)();
  return reinterpret_cast<Join>(found)();
}
#endif

}  // namespace

std::optional<Launch> launched() {
  for (const LauncherVariables& names : kMpiLaunchers) {
    const std::optional<int> rank = number(names.rank);
    const std::optional<int> ranks = number(names.ranks);
    if (rank && ranks) return Launch{.rank = *rank, .ranks = *ranks};
  }
  return std::nullopt;
}

std::unique_ptr<Ranks> join_ranks(const Launch& launch) {
#ifdef DDPSIM_MPI_MODULE
  std::unique_ptr<Ranks> ranks(load_ranks());
  if (ranks->size() == launch.ranks) return ranks;
  throw UsageError(
      "",
      fmt::format("a launcher started {} processes, but MPI has {}", launch.ranks, ranks->size()),
      fmt::format("Use the launcher of the MPI that this ddpsim was built with (for srun: "
                  "--mpi=pmix, or one of `srun --mpi=list`), {}",
                  kShards));
#else
  throw UsageError(
      "",
      fmt::format("a launcher started {} processes, but this ddpsim was built without MPI",
                  launch.ranks),
      fmt::format("Build it with MPI installed (Debian: libopenmpi-dev), {}", kShards));
#endif
}

}  // namespace ddpsim
