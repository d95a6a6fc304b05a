#include "memory.hpp"

#include <algorithm>
#include <utility>

#include "rank.hpp"

namespace fsdp {

Block Memory::take(std::int64_t bytes, cudaStream_t stream) {
  collect();
  in_use_ += bytes;
  most_ = std::max(most_, in_use_);
  const auto known = std::ranges::find_if(
      free_, [&](const Block& block) { return block.bytes == bytes && block.stream == stream; });
  if (known != free_.end()) {
    const Block block = *known;
    free_.erase(known);
    return block;
  }
  Block block{.data = nullptr, .bytes = bytes, .stream = stream};
  require(cudaMalloc(&block.data, static_cast<std::size_t>(bytes)), "taking memory");
  return block;
}

void Memory::give(Block& block, const std::vector<cudaStream_t>& users) {
  if (block.data == nullptr) return;
  Given given{.block = std::exchange(block, {}), .until = {}};
  for (const cudaStream_t user : users) {
    if (user == given.block.stream) continue;
    cudaEvent_t event = nullptr;
    require(cudaEventCreate(&event), "making an event");
    require(cudaEventRecord(event, user), "recording an event");
    given.until.push_back(event);
  }
  given_.push_back(std::move(given));
  collect();
}

bool Memory::is_free(Given& given) {
  while (!given.until.empty()) {
    const cudaError_t state = cudaEventQuery(given.until.back());
    if (state == cudaErrorNotReady) return false;
    require(state, "querying an event");
    require(cudaEventDestroy(given.until.back()), "ending an event");
    given.until.pop_back();
  }
  return true;
}

void Memory::collect() {
  for (auto at = given_.begin(); at != given_.end();) {
    if (!is_free(*at)) {
      ++at;
      continue;
    }
    in_use_ -= at->block.bytes;
    free_.push_back(at->block);
    at = given_.erase(at);
  }
}

}  // namespace fsdp
