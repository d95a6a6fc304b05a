// Any bytes as NCCL's topology XML give a cluster with channels, or an InputError.
#include "description.hpp"
#include "fuzz_topology.hpp"
#include "nccl_xml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!ddpsim::looks_like_xml(text)) return 0;
  const bool amd = text.find("<xgmi") != text.npos;
  return ddpsim::survives([&] {
    return ddpsim::resolve(ddpsim::describe_source(
        text, "fuzz.xml", amd ? "gpu:MI300X node:2 nic:100Gbps" : "gpu:A100 node:2 nic:100Gbps"));
  });
}
