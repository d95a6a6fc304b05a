// The NICs of a topology in XML: their ports, slots and rates, and which of them the job uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nccl_xml.hpp"
#include "nic_list.hpp"
#include "xml_slot.hpp"
#include "xml_text.hpp"

namespace ddpsim {

/// A NIC of the job, and the rate of its link to its parent in GB/s, one direction.
struct PlacedNic {
  pugi::xml_node node;
  std::string name;
  Bandwidth rate;
  std::uint32_t above = 0;
  double nominal = 0;
  double nccl = 0;
};

class XmlNics {
 public:
  explicit XmlNics(const XmlText& xml) : xml_(xml) {}

  /// Adds the ports of a device. `nic` is empty if the file shows only the device.
  void list(const pugi::xml_node& nic, const pugi::xml_node& pci, std::uint32_t above,
            const std::optional<Slot>& slot);
  /// Returns the job's NICs. Call this once the GPUs are known. If some devices have ports, NCCL
  /// does not use devices without any. Fills what `out` says about the network.
  std::vector<PlacedNic> place(const std::optional<GpuModel>& stated, XmlNode& out);

 private:
  /// Entry i belongs to `listed_[i]`.
  struct Nic {
    pugi::xml_node node;
    std::uint32_t above = 0;
    std::optional<Slot> slot;
    NetworkKind kind = NetworkKind::none;
    bool gpudirect = true;
    bool collnet = false;
    int most_gbps = 0;  ///< of the model; 0 if unknown
  };

  /// Functions of one device, such as "0000:18:00.0" and "0000:18:00.1", share a slot.
  std::size_t device_of(const pugi::xml_node& pci);
  /// 0 if the rate is missing or impossible.
  Bandwidth stated_rate(const pugi::xml_node& net);
  /// "nic:200Gbps:ib", as the device's model and name suggest.
  std::string word_for(std::size_t nic) const;
  /// The file's name as given, with the word that it needs.
  std::string file_with_gpu(const std::optional<GpuModel>& stated) const;
  void doubt_rates(const std::vector<std::size_t>& counted, const std::optional<GpuModel>& stated,
                   XmlNode& out);

  const XmlText& xml_;
  std::size_t devices_ = 0;
  std::map<std::string, std::size_t> device_numbers_;  ///< by bus id without the function
  std::vector<ListedNic> listed_;
  std::vector<Nic> nics_;
  std::vector<std::size_t> implausible_;  ///< indices of NICs with implausible rates
};

}  // namespace ddpsim
