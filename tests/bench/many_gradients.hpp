// A workload with a given number of gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Sizes repeat with two different periods, so that few caps give the same buckets.
inline Workload many_gradients(std::int64_t gradients) {
  constexpr std::int64_t kElements[] = {256, 1024, 4096, 65536, 262144, 589824, 1048576};
  Workload workload;
  workload.forward = Duration::microseconds(15.0 * static_cast<double>(gradients));
  workload.backward = Backward{
      .duration = Duration::microseconds(30.0 * static_cast<double>(gradients)), .ready = {}};
  for (std::int64_t i = 0; i < gradients; ++i) {
    Parameter& parameter = workload.parameters.emplace_back();
    parameter.name = "p" + std::to_string(i);
    parameter.shape = {{kElements[(i * i) % 7] + i % 13}};
  }
  for (std::int64_t i = gradients; i-- > 0;)
    workload.backward->ready.push_back(
        {.parameter = static_cast<std::size_t>(i),
         .at = Duration::microseconds(30.0 * static_cast<double>(gradients - i) - 1),
         .copied_at = {}});
  return workload;
}

}  // namespace ddpsim
