// Any bytes as a range of clusters give at least one cluster, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_ranges.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (ddpsim::cluster_ranges(text).empty()) __builtin_trap();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
