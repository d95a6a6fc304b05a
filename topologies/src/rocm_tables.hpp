// What rocm-smi and amd-smi say of a node, from their tables or from their JSON.
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
  std::vector<std::string> numa;  ///< node of each GPU; empty where nothing says
  std::string model;              ///< as the program names all GPUs; empty where it does not
  std::vector<std::string> doubts;
};

}  // namespace ddpsim
