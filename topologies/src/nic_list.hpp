// The network devices that a topology file lists, and which of them are NICs of the job.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct ListedNic {
  std::string name;      ///< "mlx5_0"; empty where the file gives none
  std::string port;      ///< number of the port, as written
  Bandwidth rate;        ///< of the port; 0 where it is not stated
  Bandwidth slot;        ///< nominal, of the device's PCIe slot; 0 where it hangs in none
  std::size_t device{};  ///< ports of one PCI device have one number
};

/// Places in `listed` of the NICs that count, each device once. What is left out is named in `doubts`.
std::vector<std::size_t> nics_that_count(const std::vector<ListedNic>& listed,
                                         std::vector<std::string>& doubts);

/// Ports of the device among those that count.
std::size_t ports_of(std::size_t device, const std::vector<ListedNic>& listed,
                     const std::vector<std::size_t>& counted);

/// A bridge, tunnel or half of a pair that software makes: "veth1a2b", "docker0", "lo".
bool is_virtual_interface(std::string_view name);

/// By name and PCI class ("0x020700" is InfiniBand's, "0x020000" Ethernet's; either may be empty).
NetworkKind network_of_name(std::string_view name, std::string_view pci_class);

}  // namespace ddpsim
