// `rocm-smi --showtopo --json` and `amd-smi topology --json`.
#pragma once

#include <string>
#include <string_view>

#include "rocm_tables.hpp"

namespace ddpsim {

/// Whether it is JSON of one of these programs, of its topology or not.
bool looks_like_rocm_json(std::string_view text);

/// Throws InputError; where it is without the topology, with the command to run.
RocmTables read_rocm_json(std::string_view text, const std::string& file);

}  // namespace ddpsim
