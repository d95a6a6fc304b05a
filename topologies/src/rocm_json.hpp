// Reads the output of `rocm-smi --showtopo --json` and `amd-smi topology --json`.
#pragma once

#include <string>
#include <string_view>

#include "rocm_tables.hpp"

namespace ddpsim {

/// Whether the text is JSON of one of these programs, with or without a topology.
bool looks_like_rocm_json(std::string_view text);

/// Throws InputError. If the topology is missing, the message names the command to run.
RocmTables read_rocm_json(std::string_view text, const std::string& file);

}  // namespace ddpsim
