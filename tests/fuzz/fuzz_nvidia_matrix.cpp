// Any bytes as the matrix of nvidia-smi or the tables of rocm-smi give a cluster with channels, or
// an InputError.
#include "description.hpp"
#include "fuzz_topology.hpp"
#include "nvidia_matrix.hpp"
#include "rocm_matrix.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool amd = ddpsim::looks_like_rocm_matrix(text);
  if (!amd && !ddpsim::looks_like_nvidia_matrix(text)) return 0;
  return ddpsim::survives([&] {
    return ddpsim::resolve(
        ddpsim::describe_source(text, "fuzz.txt", amd ? "gpu:MI300X" : "gpu:V100"));
  });
}
