// Any bytes as background traffic give a fabric with traffic on its links, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/background_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ddpsim::ClusterRequest cluster{.text =
                                           "node:2 gpu:2xV100 nvswitch:150GBps nic:1x100Gbps:ib"};
  try {
    const ddpsim::SharedFabric shared = ddpsim::parse_background(text, "fuzz.json", cluster);
    for (const ddpsim::BackgroundTransfer& transfer : shared.background.transfers)
      for (const ddpsim::LinkId link : transfer.links)
        if (link >= shared.fabric.links.size()) __builtin_trap();
    for (const ddpsim::BackgroundJob& job : shared.background.jobs)
      if (job.rings.empty()) __builtin_trap();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
