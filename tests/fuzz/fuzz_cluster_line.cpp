// Any bytes as a one-line cluster give a cluster or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpsim::Cluster cluster = ddpsim::parse_cluster_line(text);
    if (cluster.ranks() < 1 || cluster.ring.channels < 1) __builtin_trap();
    if (!(cluster.ring.intra.bytes_per_second() > 0)) __builtin_trap();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
