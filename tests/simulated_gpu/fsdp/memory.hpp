// Device memory as PyTorch's caching allocator hands it out. A block belongs to the stream on which
// it was taken. After it is returned, that stream may take it again at once, because new work on
// the stream runs after the old.
//
// If another stream also used the block, it becomes available when that stream has finished with
// it. PyTorch learns about such use from record_stream. Without that call, or without a wait
// between the streams, new work overwrites data that is still being read. These runs must notice
// such errors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <list>
#include <vector>

namespace fsdp {

struct Block {
  void* data = nullptr;
  std::int64_t bytes = 0;
  cudaStream_t stream = nullptr;
};

class Memory {
 public:
  Block take(std::int64_t bytes, cudaStream_t stream);
  /// Returns a block that `users` also read or wrote, up to the work they hold now.
  void give(Block& block, const std::vector<cudaStream_t>& users = {});
  /// The peak of all memory taken, plus memory that cannot be taken again yet.
  std::int64_t most_in_use() const { return most_; }

 private:
  struct Given {
    Block block;
    std::vector<cudaEvent_t> until;
  };
  /// Whether all its users have finished.
  static bool is_free(Given& given);
  void collect();

  std::vector<Block> free_;
  std::list<Given> given_;
  std::int64_t in_use_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace fsdp
