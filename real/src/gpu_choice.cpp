#include "gpu_choice.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace ddpsim {

bool ranks_may_share_gpus() {
  const char* text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return text != nullptr && std::strtoll(text, nullptr, 0) != 0;  // same number format as NCCL
}

GpuChoice choose_gpu(const World& world, int visible, bool shared) {
  if (visible <= 0) return {.gpu = 0, .problem = "no GPU to run on: this process sees none"};
  if (!world.local_rank_known) return {};
  if (world.local_rank < visible) return {.gpu = world.local_rank, .problem = ""};
  if (shared) return {.gpu = world.local_rank % visible, .problem = ""};
  if (world.launched && visible == world.ranks_of_process)
    return {.gpu = world.index_in_process, .problem = ""};
  return {.gpu = 0,
          .problem = fmt::format("local rank {} has no GPU of its own: its process sees {}{}",
                                 world.local_rank, visible,
                                 world.launched
                                     ? ". A launcher may show each process all GPUs of its host, "
                                       "or as many as it has ranks (srun --gpus-per-task=1)"
                                     : "")};
}

}  // namespace ddpsim
