#include "gpu_choice.hpp"

#include <fmt/format.h>

namespace ddpsim {

GpuChoice choose_gpu(const World& world, int visible) {
  if (visible <= 0) return {.gpu = 0, .problem = "no GPU to run on: this process sees none"};
  if (!world.local_rank_known) return {};
  if (world.local_rank < visible) return {.gpu = world.local_rank, .problem = ""};
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
