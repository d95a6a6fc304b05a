// The backend c10d-gloo is a module of its own, which is loaded only when it is requested.
#include <dlfcn.h>
#include <fmt/format.h>

#include "backends.hpp"
#include "cpu_device.hpp"
#include "reducer.hpp"

namespace ddpsim {

std::string c10d_gloo_refuses(const Workload& workload, const ReducerOptions& options) {
  if (!options.bucket_cap_mb_list.empty()) return "this libtorch has no bucket_cap_mb_list";
  if (options.broadcast_buffers && !workload.buffers.empty())
    return "c10d-gloo does not broadcast buffers: pass --no-broadcast-buffers to both";
  if (options.comm_hook == CommHook::bf16_compress)
    return "gloo in this libtorch does not support bfloat16 (\"Invalid scalar type\"), so "
           "bf16_compress_hook cannot run";
  for (const Parameter& parameter : workload.parameters)
    if (!is_reduced(parameter) || parameter.dtype != Dtype::float32)
      return "c10d-gloo supports only float32 parameters, all of them in DDP";
  return cannot_reduce(workload, options, CpuDevice::refuses).value_or("");
}

std::unique_ptr<RealBackend> make_c10d_gloo(StoreClient& store, const BackendSetting& setting) {
  void* const module = dlopen(DDPSIM_C10D_MODULE, RTLD_NOW | RTLD_LOCAL);
  void* const found = module == nullptr ? nullptr : dlsym(module, "ddpsim_make_c10d_gloo");
  if (found == nullptr)
    throw Unavailable(fmt::format("backend c10d-gloo cannot be loaded: {}", dlerror()));
  using Make = RealBackend* (*)(StoreClient & store, const BackendSetting& setting);
  return std::unique_ptr<RealBackend>(reinterpret_cast<Make>(found)(store, setting));
}

}  // namespace ddpsim
