#include "backends.hpp"

#include <algorithm>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

struct BackendEntry {
  const char* name;
  const char* summary;
  /// Why this build lacks it. The other fields are set only if it is available.
  const char* missing = "";
  std::string (*refuses)(const Workload& workload, const ReducerOptions& options) = nullptr;
  std::unique_ptr<RealBackend> (*make)(StoreClient& store, const BackendSetting& setting) = nullptr;
  void (*require_machine)(const World& world) = nullptr;  ///< absent: any machine is suitable
};

constexpr BackendEntry kBackends[] = {
    {
        .name = "cpu-gloo",
        .summary = "our reducer; compute is a timed wait, gloo over TCP",
#ifdef DDPSIM_WITH_GLOO
        .refuses = cpu_gloo_refuses,
        .make = make_cpu_gloo,
#else
        .missing = "gloo was not found when this was built; Debian: libgloo-dev",
#endif
    },
    {
        .name = "c10d-gloo",
        .summary = "PyTorch's own c10d::Reducer instead of ours",
#ifdef DDPSIM_WITH_C10D
        .refuses = c10d_gloo_refuses,
        .make = make_c10d_gloo,
#else
        .missing = "libtorch and gloo were not found when this was built (with GCC); Debian: "
                   "libtorch-dev libgloo-dev",
#endif
    },
    {
        .name = "cuda-nccl",
        .summary = "our reducer on GPUs, NCCL",
#ifdef DDPSIM_WITH_CUDA
        .refuses = cuda_nccl_refuses,
        .make = make_cuda_nccl,
        .require_machine = require_cuda_nccl,
#else
        .missing = "nvcc and NCCL were not found when this was built; the CUDA toolkit (11.8 to "
                   "13) and libnccl-dev bring them",
#endif
    },
};

const BackendEntry& backend_here(const std::string& name) {
  const BackendEntry* found = std::ranges::find(kBackends, name, &BackendEntry::name);
  DDPSIM_ASSERT(found != std::end(kBackends) && found->make != nullptr,
                "only backends that are here are asked for");
  return *found;
}

}  // namespace

std::vector<BackendKind> backend_kinds() {
  std::vector<BackendKind> kinds;
  for (const BackendEntry& backend : kBackends)
    kinds.push_back({backend.name, backend.summary, backend.missing});
  return kinds;
}

void require_machine(const std::string& name, const World& world) {
  const BackendEntry& backend = backend_here(name);
  if (backend.require_machine != nullptr) backend.require_machine(world);
}

std::string backend_refuses(const std::string& name, const Workload& workload,
                            const ReducerOptions& options) {
  return backend_here(name).refuses(workload, options);
}

std::unique_ptr<RealBackend> make_backend(const std::string& name, StoreClient& store,
                                          const BackendSetting& setting) {
  return backend_here(name).make(store, setting);
}

}  // namespace ddpsim
