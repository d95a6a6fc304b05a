// Kernels on a GPU, if there is one.
#ifdef DDPSIM_WITH_CUDA
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "cuda_device.hpp"
#include "cuda_kernels.h"

using namespace ddpsim;

namespace {

bool no_gpu() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return false;
  MESSAGE("skipped: there is no GPU here");
  return true;
}

}  // namespace

TEST_CASE("real cuda: gradients are scaled into the bucket and copied out of it") {
  if (no_gpu()) return;
  CudaDevice device(0, HostClock(monotonic_ns()), false);
  const Region gradient = device.allocate(Dtype::float32, 1001);
  const Region bucket = device.allocate(Dtype::float32, 2001);
  device.fill(gradient, 3);
  device.scale_copy(gradient, bucket.part(500, 1001), 0.5);
  device.copy(bucket.part(500, 1001), gradient);
  for (const double value : device.read(gradient)) CHECK(value == 1.5);
  const std::vector<double> whole = device.read(bucket);
  CHECK(whole[499] == 0);
  CHECK(whole[500] == 1.5);
  CHECK(whole[1501] == 0);
}

TEST_CASE("real cuda: float32 to 16 bits and back") {
  if (no_gpu()) return;
  CudaDevice device(0, HostClock(monotonic_ns()), false);
  for (const auto& [dtype, type] :
       {std::pair{Dtype::float16, DDPSIM_FLOAT16}, std::pair{Dtype::bfloat16, DDPSIM_BFLOAT16}}) {
    const Region wide = device.allocate(Dtype::float32, 1001);
    const Region compress = device.allocate(dtype, 1001);
    device.fill(wide, 1 + 1.0 / 4096);  // more digits than either type holds
    CHECK(ddpsim_compress(device.stream(), reinterpret_cast<float*>(wide.data), compress.data, 1001,
                          type) == 0);
    CHECK(ddpsim_decompress(device.stream(), compress.data, reinterpret_cast<float*>(wide.data),
                            1001, type) == 0);
    for (const double value : device.read(wide)) CHECK(value == 1);
  }
}

TEST_CASE("real cuda: replayed compute takes the given time within 2 %") {
  if (no_gpu()) return;
  for (const bool busy : {false, true}) {
    CudaDevice device(0, HostClock(monotonic_ns()), busy);
    for (const double us : {100.0, 1000.0, 20000.0}) {
      device.compute(Duration::microseconds(us));  // warm-up
      const Event begin = device.record_event();
      device.compute(Duration::microseconds(us));
      const Event end = device.record_event();
      device.synchronise();
      const double took = (device.time_of(end) - device.time_of(begin)).microseconds();
      CHECK(took >= us * 0.98);
      CHECK(took <= us * 1.02 + 10);  // plus a launch
    }
  }
}
#endif
