// Memory for the devices and for results that are not visible yet.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simulated_gpu {

std::byte* take_memory(std::int64_t bytes);
/// `bytes` must be the same as when the memory was taken.
void give_memory(std::byte* memory, std::int64_t bytes);

}  // namespace simulated_gpu
