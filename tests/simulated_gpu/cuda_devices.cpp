// The CUDA runtime's devices, versions and errors, as far as ddpsim-real uses them. Unsupported
// requests are reported by name.
#include <cstdio>
#include <cstring>

#include "cuda_process.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const Call call(machine().settings.call_ns);
  const cudaError_t error = usable();
  *count = static_cast<int>(visible_devices().size());
  return report(error);
}

cudaError_t cudaSetDevice(int device) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (device < 0 || device >= static_cast<int>(visible_devices().size()))
    return report(cudaErrorInvalidDevice);
  choose_device(device);
  calls_are_of(physical_device());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  constexpr int kProcessors = 80;
  if (attribute != cudaDevAttrMultiProcessorCount) return report(cudaErrorNotSupported);
  *value = kProcessors;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "simulated V100-SXM2-16GB");
  properties->major = 7;
  properties->multiProcessorCount = 80;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  const std::vector<int> devices = visible_devices();
  if (device < 0 || device >= static_cast<int>(devices.size()))
    return report(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0",
                devices[static_cast<std::size_t>(device)] + 1);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return take_last_error();
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInitializationError:
      return "initialization error";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorNotSupported:
      return "operation not supported";
    default:
      return "unknown CUDA error";
  }
}

}  // extern "C"
