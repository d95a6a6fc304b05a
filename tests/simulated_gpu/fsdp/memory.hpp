// Device memory as PyTorch's caching allocator hands it out: a block belongs to the stream it was taken on. Given back, it
// may be taken on that stream at once, for what is enqueued there runs behind what used it. Used on another stream as well,
// it is there again when that one is done with it, of which PyTorch hears by record_stream. Whoever does not say so, or does
// not make the one stream wait for the other, writes into what is still read: that is what these runs are to notice.
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
  /// Also read or written on `users`, up to what they hold now.
  void give(Block& block, const std::vector<cudaStream_t>& users = {});
  /// Of all that is taken, and of what nobody may take yet.
  std::int64_t most_in_use() const { return most_; }

 private:
  struct Given {
    Block block;
    std::vector<cudaEvent_t> until;
  };
  /// All its users are done.
  static bool is_free(Given& given);
  void collect();

  std::vector<Block> free_;
  std::list<Given> given_;
  std::int64_t in_use_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace fsdp
