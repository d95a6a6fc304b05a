// Casts on the processor give the same bits with all instruction sets.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cpu_device.hpp"

using namespace ddpsim;

TEST_CASE("real CPU: casts to 16 bits round to nearest, ties to even, and convert back exactly") {
  CpuDevice device{HostClock(monotonic_ns())};
  struct Case {
    float given;
    double half;
    double bfloat;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {0.0F, 0, 0},
      {-1.5F, -1.5, -1.5},
      {1 + 1.0F / 2048, 1, 1},               // a tie of float16, rounded to even
      {1 + 3.0F / 2048, 1 + 2.0 / 1024, 1},  // the next tie
      {1 + 1.0F / 256, 1 + 1.0 / 256, 1},    // a tie of bfloat16
      {65504.0F, 65504, 65536},              // the largest float16
      {1e6F, infinity, 999424},              // larger than float16's range
      {0x1p-24F, 0x1p-24, 0x1p-24},          // the smallest float16
      {0x1p-26F, 0, 0x1p-26},
  };
  // All lengths, because vectors convert eight at once and a loop converts the rest.
  for (std::int64_t length = 1; length <= 20; ++length) {
    for (const Case& one : cases) {
      for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
        const Region wide = device.allocate(Dtype::float32, length);
        const Region compress = device.allocate(dtype, length);
        for (std::int64_t i = 0; i < length; ++i)
          std::memcpy(wide.data + i * 4, &one.given, sizeof one.given);
        device.cast(wide, compress);
        device.fill(wide, 7);
        device.cast(compress, wide);
        for (const double value : device.read(wide))
          CHECK(value == (dtype == Dtype::float16 ? one.half : one.bfloat));
      }
    }
  }
}

TEST_CASE("real CPU: 16-bit elements are divided in place, in float") {
  CpuDevice device{HostClock(monotonic_ns())};
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    const Region region = device.allocate(dtype, 11);
    device.fill(region, 3);
    device.scale_copy(region, region, 0.25);
    for (const double value : device.read(region)) CHECK(value == 0.75);
  }
}
