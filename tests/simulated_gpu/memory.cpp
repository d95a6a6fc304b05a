#include "memory.hpp"

#include <bit>

#include "machine.hpp"

namespace simulated_gpu {
namespace {

constexpr std::int64_t kSmallest = 256;  // alignment of CUDA

int class_of(std::int64_t bytes) {
  const std::int64_t blocks = (bytes + kSmallest - 1) / kSmallest;
  return blocks <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(blocks - 1)));
}

}  // namespace

std::byte* take_memory(std::int64_t bytes) {
  Memory& memory = machine().memory;
  const int wanted = class_of(bytes);
  if (std::byte* const free = memory.free[wanted]; free != nullptr) {
    memory.free[wanted] = *reinterpret_cast<std::byte**>(free);
    return free;
  }
  std::byte* const fresh = reinterpret_cast<std::byte*>(kMemoryPlace) + memory.used;
  memory.used += kSmallest << wanted;
  if (memory.used > static_cast<std::int64_t>(kMemoryBytes))
    give_up("the machine has no memory left");
  return fresh;
}

void give_memory(std::byte* memory, std::int64_t bytes) {
  std::byte*& first = machine().memory.free[class_of(bytes)];
  *reinterpret_cast<std::byte**>(memory) = first;
  first = memory;
}

}  // namespace simulated_gpu
