// What rocm-smi and amd-smi report about a node, in tables or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ddpsim {

inline constexpr std::size_t kMostRocmGpus = 640;

/// A value for every pair of GPUs, as written.
struct RocmTable {
  std::vector<std::string> devices;
  std::vector<std::vector<std::string>> cells;
};

struct RocmTables {
  std::optional<RocmTable> links, hops, weights, access;
  std::vector<std::string> numa;  ///< NUMA node of each GPU; empty if unknown
  /// The program's name for all GPUs; empty if it gives none.
  std::string model;
  std::vector<std::string> doubts;
};

}  // namespace ddpsim
