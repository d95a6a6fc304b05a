#include "backends.hpp"

#include "ddpsim/sim/assert.hpp"

namespace ddpsim {
namespace {

#ifdef DDPSIM_WITH_GLOO
constexpr const char* kNoGloo = "";
#else
constexpr const char* kNoGloo = "gloo was not found when this was built; Debian: libgloo-dev";
#endif
#ifdef DDPSIM_WITH_C10D
constexpr const char* kNoC10d = "";
#else
constexpr const char* kNoC10d =
    "libtorch and gloo were not found when this was built (with GCC); Debian: libtorch-dev "
    "libgloo-dev";
#endif
#ifdef DDPSIM_WITH_CUDA
constexpr const char* kNoCuda = "";
#else
constexpr const char* kNoCuda =
    "nvcc and NCCL were not found when this was built; the CUDA toolkit (11.8 to 13) and "
    "libnccl-dev "
    "bring them";
#endif

}  // namespace

std::vector<BackendKind> backend_kinds() {
  return {
      {"cpu-gloo", "our reducer; compute is a timed wait, gloo over TCP", kNoGloo},
      {"c10d-gloo", "PyTorch's own c10d::Reducer in the same place", kNoC10d},
      {"cuda-nccl", "our reducer on GPUs, NCCL", kNoCuda},
  };
}

void require_machine([[maybe_unused]] const std::string& backend,
                     [[maybe_unused]] const World& world) {
#ifdef DDPSIM_WITH_CUDA
  if (backend == "cuda-nccl") require_cuda(world);
#endif
}

std::string backend_refuses(const std::string& name, [[maybe_unused]] const Workload& workload,
                            [[maybe_unused]] const DdpOptions& options) {
#ifdef DDPSIM_WITH_GLOO
  if (name == "cpu-gloo") return cpu_gloo_refuses(workload, options);
#endif
#ifdef DDPSIM_WITH_C10D
  if (name == "c10d-gloo") return c10d_gloo_refuses(workload, options);
#endif
#ifdef DDPSIM_WITH_CUDA
  if (name == "cuda-nccl") return cuda_nccl_refuses(workload, options);
#endif
  DDPSIM_ASSERT(name.empty(), "only backends that are here are asked for");
  return "";
}

std::unique_ptr<RealBackend> make_backend(const std::string& name,
                                          [[maybe_unused]] StoreClient& store,
                                          [[maybe_unused]] const BackendSetting& setting) {
#ifdef DDPSIM_WITH_GLOO
  if (name == "cpu-gloo") return make_cpu_gloo(store, setting);
#endif
#ifdef DDPSIM_WITH_C10D
  if (name == "c10d-gloo") return make_c10d_gloo(store, setting);
#endif
#ifdef DDPSIM_WITH_CUDA
  if (name == "cuda-nccl") return make_cuda_nccl(store, setting);
#endif
  DDPSIM_ASSERT(name.empty(), "only backends that are here are asked for");
  return nullptr;
}

}  // namespace ddpsim
