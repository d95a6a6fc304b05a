// What ddpsim-real says of the machines it ran on, beside each thing it measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

/// The text under a key, where there is one.
using Said = std::function<std::optional<std::string>(std::string_view key)>;
/// `texts` must outlive it.
Said words_in(const std::vector<std::pair<std::string, std::string>>& texts);

/// Hosts and GPUs by rank, NCCL's version, and what carried the collectives where that is not NCCL.
void take_setup(const Said& said, RawRun& run, RawLog& log);

/// Bytes of a bucket over those it has on the wire: a hook compresses float32 to 16 bits.
std::int64_t wire_share(const Said& said);

}  // namespace ddpsim
