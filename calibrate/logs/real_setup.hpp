// What ddpsim-real says about the machines it ran on, next to each measurement.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

/// The text under a key, if there is one.
using Said = std::function<std::optional<std::string>(std::string_view key)>;
/// `texts` must outlive the result.
Said words_in(const std::vector<std::pair<std::string, std::string>>& texts);

/// Reads hosts and GPUs by rank, NCCL's version, and what carried the collectives if that was not
/// NCCL.
void take_setup(const Said& said, RawRun& run, RawLog& log);

/// Ratio of a bucket's bytes to its bytes on the wire; a hook compresses float32 to 16 bits.
std::int64_t wire_share(const Said& said);

}  // namespace ddpsim
