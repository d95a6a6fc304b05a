// Elements in host memory, in their own type. The 16-bit types are Eigen's. They have the same bits
// as PyTorch's, and also round to the nearest, ties to even.
#pragma once

#include <Eigen/Core>
#include <span>

#include "ddpsim/sim/values/assert.hpp"
#include "device.hpp"

namespace ddpsim {

/// Calls `use` with a span of the region's elements.
template <typename Use>
void with_elements(Region region, Use use) {
  const auto call = [&]<typename T>(T* first) {
    use(std::span<T>(first, static_cast<std::size_t>(region.elements)));
  };
  switch (region.dtype) {
    case Dtype::float32:
      return call(reinterpret_cast<float*>(region.data));
    case Dtype::float64:
      return call(reinterpret_cast<double*>(region.data));
    case Dtype::float16:
      return call(reinterpret_cast<Eigen::half*>(region.data));
    case Dtype::bfloat16:
      return call(reinterpret_cast<Eigen::bfloat16*>(region.data));
    default:
      DDPSIM_ASSERT(false, "refuses() lets floating point pass");
  }
}

/// to = from, in to's type. One of the two has 16 bits.
void cast_elements(Region from, Region to);

}  // namespace ddpsim
