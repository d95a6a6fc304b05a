// Any bytes as a list of nodes and switches give a fabric, or an InputError.
#include "description.hpp"
#include "fuzz_topology.hpp"
#include "switch_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return ddpsim::survives([&] {
    const ddpsim::SwitchPlan plan = ddpsim::parse_switch_list(text, "fuzz.conf");
    ddpsim::Topology topology = ddpsim::load_topology(
        {"node:1 gpu:1xV100 nic:1x100Gbps", static_cast<int>(plan.hosts.size()), {}});
    topology.switches = plan;
    return topology;
  });
}
