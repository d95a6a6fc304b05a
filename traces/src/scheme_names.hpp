// Names by which events of a trace show another scheme than DDP, or SyncBatchNorm under it: ranges, operators, autograd nodes, and with
// with_stack=True modules and files.
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

/// Of an event's name, or of an autograd node's; absent for all others.
std::optional<NamedScheme> named_scheme(std::string_view name);

}  // namespace ddpsim
