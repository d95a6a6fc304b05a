// Network devices of a topology file, and which of them are NICs of the job.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct ListedNic {
  std::string name;  ///< "mlx5_0"; empty if not stated
  std::string port;  ///< port number, as written
  Bandwidth rate;    ///< rate of the port; 0 if not stated
  /// Nominal rate of the device's PCIe slot; 0 without a slot.
  Bandwidth slot;
  std::size_t device{};  ///< equal for all ports of one PCI device
};

/// Indices in `listed` of the job's NICs, one port for each device. `doubts` names what is left
/// out.
std::vector<std::size_t> nics_that_count(const std::vector<ListedNic>& listed,
                                         std::vector<std::string>& doubts);

/// Number of the device's ports among those NICs.
std::size_t ports_of(std::size_t device, const std::vector<ListedNic>& listed,
                     const std::vector<std::size_t>& counted);

/// Interfaces made by software, such as a bridge, a tunnel or half of a pair: "veth1a2b",
/// "docker0", "lo".
bool is_virtual_interface(std::string_view name);

/// Kind of network, from the name and the PCI class ("0x020700" is InfiniBand, "0x020000"
/// Ethernet). Either may be empty.
NetworkKind network_of_name(std::string_view name, std::string_view pci_class);

}  // namespace ddpsim
