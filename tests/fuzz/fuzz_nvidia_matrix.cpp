// Any bytes as nvidia-smi's matrix: a cluster with channels or an InputError, never anything else.
#include "description.hpp"
#include "fuzz_topology.hpp"
#include "nvidia_matrix.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!ddpsim::looks_like_nvidia_matrix(text)) return 0;
  return ddpsim::survives(
      [&] { return ddpsim::resolve(ddpsim::describe_source(text, "fuzz.txt", "gpu:V100")); });
}
