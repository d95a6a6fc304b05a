// The rates of machines are known within small factors: PCIe and NVLink by generation, NICs by
// their slot. The limits are beyond any product, but within the factor of 8 that a wrong unit
// causes.
#include "ddpsim/topologies/plausible.hpp"

#include <fmt/format.h>

#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/pcie_rate.hpp"
#include "nccl_rates.hpp"

namespace ddpsim {
namespace {

/// A rate in both common units.
std::string in_both_units(Bandwidth rate) {
  const double gigabytes = rate.gigabytes_per_second();
  return fmt::format("{:.4g} GB/s ({:.4g} Gb/s)", gigabytes, 8 * gigabytes);
}

/// Data sheets add both directions of a link, so their values are twice the rate in one direction,
/// which all words here state. A faster slot may be a what-if, but links come with the GPU.
void judge_both_ways(const Cluster& cluster, bool direct, std::vector<std::string>& found) {
  constexpr double kBothWays = 1.8;
  constexpr double kFasterSlot = 2.2;
  const GpuModel& gpu = cluster.gpu;
  const double one_way = direct ? gpu.links.value_or(0) * nvlink_rate(gpu).nominal
                                : pcie_nominal_of_generation(gpu.compute_capability);
  const double rate = cluster.intra.per_gpu.gigabytes_per_second();
  if (!(one_way > 0) || rate < kBothWays * one_way) return;
  if (!direct && rate > kFasterSlot * one_way) return;
  const std::string what = direct ? fmt::format("the {} {} links of {} carry", *gpu.links,
                                                direct_links(gpu.vendor), gpu.name)
                                  : fmt::format("a PCIe slot of {} carries", gpu.name);
  const std::string links = cluster.intra.kind == IntraKind::nvlink
                                ? fmt::format("{}x{:.4g}", *gpu.links, nvlink_rate(gpu).nominal)
                                : fmt::format("{:.4g}", one_way);
  found.push_back(fmt::format(
      "{:.4g} GB/s per GPU is {:.2g} times what {} one way, {:.4g} GB/s: data sheets "
      "state both directions together. Was {}:{}GBps meant?",
      rate, rate / one_way, what, one_way, kind_word(cluster.intra.kind, gpu.vendor), links));
}

void judge_gpus(const Cluster& cluster, std::vector<std::string>& found) {
  if (cluster.gpus_per_node == 1) return;
  const Interconnect& intra = cluster.intra;
  const double rate = intra.per_gpu.gigabytes_per_second();
  const auto slow = [&](const char* what, double least, const char* least_is) {
    if (rate > 0 && rate < least)
      found.push_back(fmt::format("{} of {} per GPU is slower than {}. Was GBps meant, not Gbps?",
                                  what, in_both_units(intra.per_gpu), least_is));
  };
  const bool direct = intra.kind == IntraKind::nvswitch || intra.kind == IntraKind::nvlink;
  if (direct && cluster.gpu.links == 0)
    found.push_back(fmt::format("{} has no NVLink. Was \"pcie:{:.4g}GBps\" meant?",
                                cluster.gpu.name,
                                pcie_nominal_of_generation(cluster.gpu.compute_capability)));
  else if (intra.kind == IntraKind::nvswitch && cluster.gpu.card)
    found.push_back(
        fmt::format("{} is a PCIe card, and NVSwitches join SXM modules", cluster.gpu.product()));
  judge_both_ways(cluster, direct, found);
  constexpr double kFastest = 4000;  // twice the fastest NVLink announced for 2026
  switch (intra.kind) {
    case IntraKind::nvswitch:
      slow("an NVSwitch", 100, "the first one's 150 GB/s");
      break;
    case IntraKind::nvlink:
      slow(direct_links(cluster.gpu.vendor).data(), 16,
           "one link of the first generation (20 GB/s)");
      break;
    case IntraKind::pcie:
      slow("PCIe", 3, "PCIe 3.0 with four lanes (3.9 GB/s)");
      break;
    case IntraKind::none:
      return;
  }
  if (rate > (intra.kind == IntraKind::pcie
                  ? 4 * pcie_nominal_of_generation(cluster.gpu.compute_capability)
                  : kFastest))
    found.push_back(
        fmt::format("{} per GPU of a node is faster than any. Was Gbps meant, not GBps?",
                    in_both_units(intra.per_gpu)));
}

/// Since A100, bundled machines with a NIC for each GPU have at least 100 Gb/s per NIC
/// (topologies/data).
void judge_nic_of_each_gpu(const Cluster& cluster, std::vector<std::string>& found) {
  constexpr double kSlowest = 12.5;
  constexpr int kFewestGpus = 4;
  const Network& network = cluster.network;
  const double rate = network.per_nic.gigabytes_per_second();
  const bool direct =
      cluster.intra.kind == IntraKind::nvswitch || cluster.intra.kind == IntraKind::nvlink;
  if (!direct || cluster.gpu.compute_capability < 80 || network.kind == NetworkKind::tcp ||
      cluster.gpus_per_node < kFewestGpus || network.nics_per_node < cluster.gpus_per_node ||
      !(rate > 0.125) || rate >= kSlowest)
    return;
  found.push_back(
      fmt::format("{} NICs of {} for {} {} are slower than those of known machines with "
                  "a NIC for each GPU ({} GB/s). Was {:.4g}GBps meant?",
                  network.nics_per_node, in_both_units(network.per_nic), cluster.gpus_per_node,
                  cluster.gpu.name, kSlowest, 8 * rate));
}

void judge_network(const Cluster& cluster, std::vector<std::string>& found) {
  if (cluster.nodes == 1) return;
  const Network& network = cluster.network;
  // A what-if may be one or two generations ahead of its host.
  constexpr double kMostOverSlot = 4;
  const double slot = pcie_nominal_of_generation(cluster.gpu.compute_capability);
  const double rate = network.per_nic.gigabytes_per_second();
  if (rate > kMostOverSlot * slot)
    found.push_back(fmt::format(
        "a NIC of {} is {:.2g} times as fast as a PCIe slot of {} hosts ({} GB/s). Was {:.4g}Gbps "
        "meant?",
        in_both_units(network.per_nic), rate / slot, cluster.gpu.name, slot, rate));
  constexpr double kGigabit = 0.125;
  if (rate > 0 && rate < kGigabit)
    found.push_back(fmt::format("a NIC of {} is slower than Gigabit Ethernet. Was Gbps meant?",
                                in_both_units(network.per_nic)));
  judge_nic_of_each_gpu(cluster, found);
  if (!network.latency) return;
  const double us = network.latency->microseconds();
  if (us > 1000)
    found.push_back(
        fmt::format("a network latency of {:.4g} ms, one way, is that of a line between "
                    "cities. Was {:.4g}us meant?",
                    us / 1000, us / 1000));
  if (us > 0 && us < 0.1)
    found.push_back(fmt::format(
        "a network latency of {:.4g} ns, one way, is less than a switch takes. Was {:.4g}us meant?",
        us * 1000, us * 1000));
}

}  // namespace

std::vector<std::string> implausible_figures(const Cluster& cluster) {
  std::vector<std::string> found = cluster.doubts;
  if (cluster.verified) return found;
  judge_gpus(cluster, found);
  judge_network(cluster, found);
  return found;
}

}  // namespace ddpsim
