// Reads the tables of `rocm-smi --showtopo` and `amd-smi topology`, and their JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/topologies/topology.hpp"
#include "rocm_tables.hpp"

namespace ddpsim {

bool looks_like_rocm_matrix(std::string_view text);

/// Throws InputError.
RocmTables read_rocm_tables(std::string_view text, const std::string& file);

/// The node that the tables show. xGMI links get the rates of `gpu`, and PCIe slots those of its
/// generation. The tables hold no NICs. `doubts` receives what they leave open. Throws InputError.
NodeGraph draw_rocm_node(const RocmTables& tables, const std::string& file, const GpuModel& gpu,
                         std::vector<std::string>* doubts = nullptr);

}  // namespace ddpsim
