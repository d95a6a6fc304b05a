// Any bytes as a cluster file give a cluster or an InputError.
#include "description.hpp"
#include "fuzz_topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return ddpsim::survives(
      [&] { return ddpsim::resolve(ddpsim::describe_file(text, "fuzz.json")); });
}
