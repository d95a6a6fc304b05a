// NCCL lists every interface that its plugin offers. Some belong to containers and virtual
// machines, some are bonds of listed ports, and some are second names of a port. Rules, applied in
// this order:
//
// - virtual: Interfaces made by software carry no data of their own.
// - twice: The same port again: a VLAN ("eth0.100") or Data Direct ("mlx5_0_dma").
// - bond: Instead of its ports, the bond counts. This requires that one PCI device holds both, that
//   the rates of the ports add up to the bond's, or that each equals the bond's.
// - slow: A port with less than a quarter of the best port's bandwidth does not count. A job that
//   uses all ports evenly would wait for it. If only slots are known but no rates, the limit is a
//   sixteenth.
#include "nic_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

using Places = std::vector<std::size_t>;

/// Text such as "a, b and 5 more".
std::string few_names(const std::vector<ListedNic>& listed, const Places& places) {
  constexpr std::size_t kFew = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(places.size(), kFew); ++i)
    names.push_back(legible(listed[places[i]].name));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (places.size() > kFew) text += fmt::format(" and {} more", places.size() - kFew);
  return text;
}

/// Removes the ports for which `leave` is true from `counted` and returns them.
template <typename Leave>
Places take_out(Places& counted, Leave leave) {
  Places out;
  for (const std::size_t place : counted)
    if (leave(place)) out.push_back(place);
  std::erase_if(counted, [&](std::size_t place) { return std::ranges::count(out, place) > 0; });
  return out;
}

bool is_bond(std::string_view name) {
  return name.find("bond") != name.npos || name.starts_with("team");
}

/// Name of the underlying port: "eth0.100" and "mlx5_0_dma" lead to eth0 and mlx5_0.
std::string_view name_of_port(std::string_view name) {
  constexpr std::string_view kDataDirect = "_dma";
  if (name.ends_with(kDataDirect)) name.remove_suffix(kDataDirect.size());
  return name.substr(0, name.find_first_of(".@:"));
}

class NicChoice {
 public:
  NicChoice(const std::vector<ListedNic>& listed, std::vector<std::string>& doubts)
      : listed_(listed), doubts_(doubts) {
    for (std::size_t i = 0; i < listed.size(); ++i) counted_.push_back(i);
  }

  Places choose() {
    leave_virtual();
    leave_second_names();
    leave_ports_of_bonds();
    leave_slow();
    return std::move(counted_);
  }

 private:
  void leave_virtual() {
    const Places out =
        take_out(counted_, [&](std::size_t i) { return is_virtual_interface(listed_[i].name); });
    if (!out.empty())
      doubts_.push_back(
          fmt::format("virtual and wireless interfaces are no NICs and do not count: {}",
                      few_names(listed_, out)));
  }

  void leave_second_names() {
    const Places before = counted_;
    const Places out = take_out(counted_, [&](std::size_t i) {
      const ListedNic& nic = listed_[i];
      return !nic.name.empty() && std::ranges::any_of(before, [&](std::size_t other) {
        const ListedNic& first = listed_[other];
        const bool same = first.name == nic.name && first.port == nic.port &&
                          first.device == nic.device && other < i;
        return same || (first.name != nic.name && first.name == name_of_port(nic.name));
      });
    });
    if (!out.empty())
      doubts_.push_back(fmt::format("counted once, though listed under a second name: {}",
                                    few_names(listed_, out)));
  }

  void leave_ports_of_bonds() {
    Places out;
    for (const std::size_t bond : Places(counted_)) {
      if (!is_bond(listed_[bond].name)) continue;
      const Places ports = ports_of_bond(bond);
      out.insert(out.end(), ports.begin(), ports.end());
      std::erase_if(counted_, [&](std::size_t i) { return std::ranges::count(ports, i) > 0; });
    }
    if (!out.empty())
      doubts_.push_back(
          fmt::format("ports of a bond count as the bond alone: {}", few_names(listed_, out)));
  }

  Places ports_of_bond(std::size_t bond) const {
    const ListedNic& whole = listed_[bond];
    Places beside;     // on the same PCI device
    Places elsewhere;  // may be its ports
    Bandwidth sum;
    bool alike = true;
    for (const std::size_t i : counted_) {
      const ListedNic& port = listed_[i];
      if (i == bond || is_bond(port.name)) continue;
      if (port.device == whole.device && whole.slot > Bandwidth()) beside.push_back(i);
      if (whole.slot > Bandwidth() || !(port.rate > Bandwidth())) continue;
      elsewhere.push_back(i);
      sum = sum + port.rate;
      alike = alike && port.rate == whole.rate;
    }
    if (!beside.empty()) return beside;
    constexpr double kRounding = 1e-6;
    const double apart = sum.gigabytes_per_second() - whole.rate.gigabytes_per_second();
    const bool adds_up = std::abs(apart) < kRounding;
    return elsewhere.size() > 1 && (adds_up || alike) ? elsewhere : Places();
  }

  /// Rate of a port when all ports of its device are busy; infinite if nothing is stated.
  double usable(std::size_t i, bool by_rate) const {
    const ListedNic& nic = listed_[i];
    double rate = std::numeric_limits<double>::infinity();
    if (by_rate) rate = nic.rate.gigabytes_per_second();
    if (nic.slot > Bandwidth())
      rate = std::min(rate, nic.slot.gigabytes_per_second() /
                                static_cast<double>(ports_of(nic.device, listed_, counted_)));
    return rate;
  }

  void leave_slow() {
    const bool by_rate =
        std::ranges::all_of(counted_, [&](std::size_t i) { return listed_[i].rate > Bandwidth(); });
    // Slots alone tell less. A NIC of half the rate may be in a slot that is two generations older.
    const double least = by_rate ? 0.25 : 0.0625;
    double best = 0;
    std::map<std::size_t, double> rates;
    for (const std::size_t i : counted_) {
      rates[i] = usable(i, by_rate);
      best = std::max(best, rates[i]);
    }
    if (best == std::numeric_limits<double>::infinity()) return;
    const Places out =
        take_out(counted_, [&](std::size_t i) { return rates.at(i) < least * best; });
    for (std::size_t first = 0; first < out.size();) {
      Places ports;
      const ListedNic& nic = listed_[out[first]];
      for (; first < out.size() && listed_[out[first]].device == nic.device; ++first)
        ports.push_back(out[first]);
      const std::string where =
          nic.slot > Bandwidth()
              ? fmt::format(" in a PCIe slot of {:.2g} GB/s", nic.slot.gigabytes_per_second())
              : "";
      doubts_.push_back(
          fmt::format("{}{}{}{} too slow compared with the other NICs and not used "
                      "(NCCL_IB_HCA=^{} keeps NCCL from using it too)",
                      few_names(listed_, ports), ports.size() > 1 ? " share one device" : "", where,
                      ports.size() > 1 ? " and are" : " is", legible(nic.name)));
    }
  }

  const std::vector<ListedNic>& listed_;
  std::vector<std::string>& doubts_;
  Places counted_;
};

}  // namespace

std::vector<std::size_t> nics_that_count(const std::vector<ListedNic>& listed,
                                         std::vector<std::string>& doubts) {
  return NicChoice(listed, doubts).choose();
}

std::size_t ports_of(std::size_t device, const std::vector<ListedNic>& listed,
                     const std::vector<std::size_t>& counted) {
  return static_cast<std::size_t>(std::ranges::count_if(
      counted, [&](std::size_t place) { return listed[place].device == device; }));
}

bool is_virtual_interface(std::string_view name) {
  // Names from Linux drivers, container runtimes, network plugins, hypervisors, VPNs, and wireless
  // interfaces.
  constexpr std::array kWholeNames = {"lo", "localhost", "nodelocaldns", "weave", "podman"};
  // A number, an id or a dash follows each of these.
  constexpr std::array kBeginnings = {
      "veth",    "docker", "virbr",   "vnet",    "lxc",    "lxd",       "podman",
      "cni",     "cbr",    "flannel", "cali",    "cilium", "weave",     "kube-",
      "tunl",    "tun",    "tap",     "dummy",   "vxlan",  "geneve",    "gre",
      "erspan",  "sit",    "ip6tnl",  "ip6gre",  "ip_vti", "ip6_vti",   "ifb",
      "macvtap", "ipvl",   "nlmon",   "wg",      "zt",     "tailscale", "ovs-",
      "br-",     "br_",    "vmnet",   "vboxnet", "antrea", "nerdctl",   "azv",
      "eni",     "gke",    "vcan",    "wlan",    "wlp",    "wlx",       "wwan"};
  if (std::ranges::find(kWholeNames, name) != kWholeNames.end()) return true;
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) {
    return name.size() > beginning.size() && name.starts_with(beginning);
  });
}

NetworkKind network_of_name(std::string_view name, std::string_view pci_class) {
  const auto begins = [&](std::initializer_list<std::string_view> beginnings) {
    return std::ranges::any_of(beginnings,
                               [&](std::string_view with) { return name.starts_with(with); });
  };
  const bool ethernet = pci_class.starts_with("0x0200");
  if (begins({"cxi", "hsn"})) return NetworkKind::slingshot;
  if (begins({"efa", "rdmap"})) return NetworkKind::efa;
  if (begins({"eth", "en", "em", "bond", "team"})) return NetworkKind::tcp;
  if (begins({"roce", "bnxt_re", "irdma", "erdma", "hns"})) return NetworkKind::roce;
  return ethernet ? NetworkKind::roce : NetworkKind::infiniband;
}

}  // namespace ddpsim
