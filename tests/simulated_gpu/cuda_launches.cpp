// Registration of nvcc's code with the CUDA runtime, and launches of its kernels.
#include <cstddef>
#include <optional>
#include <utility>

#include "cuda_process.hpp"
#include "kernels.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

namespace {

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local LaunchShape shape;

}  // namespace

extern "C" {

/// Called once for each file of kernels.
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  static bool joined = false;
  join_machine();
  if (!std::exchange(joined, true)) join_scheduler();
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::optional<int> kernel = kernel_named(name);
  if (!kernel) give_up("kernel %s is not listed in kernels.cpp", name);
  process().kernels[function] = *kernel;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (!process().kernels.contains(function)) return cudaErrorInvalidDeviceFunction;
  *attributes = {};
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                     cudaStream_t stream) {
  shape = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  *grid = shape.grid;
  *block = shape.block;
  *shared_bytes = shape.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = shape.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void** arguments, std::size_t,
                             cudaStream_t stream) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  const auto known = process().kernels.find(function);
  if (known == process().kernels.end()) return report(cudaErrorInvalidDeviceFunction);
  return report(launch(stream, kernel_operation(known->second, arguments)));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

}  // extern "C"
