// Event names that show another scheme than DDP, or SyncBatchNorm under DDP. They name ranges,
// operators or autograd nodes, and with with_stack=True modules and files.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ddpsim {

enum class NamedScheme {
  fsdp,
  fsdp2,
  deepspeed,
  megatron,
  horovod,
  data_parallel,
  sync_batch_norm
};
inline constexpr std::size_t kNamedSchemes = 7;

/// Scheme named by an event or an autograd node; absent for all other names.
std::optional<NamedScheme> named_scheme(std::string_view name);

}  // namespace ddpsim
