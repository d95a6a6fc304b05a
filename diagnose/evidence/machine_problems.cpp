// An idle GPU lowers the rate of its PCIe link (NVIDIA: "may be reduced when the GPU is not in
// use"), but never the width. So a lower rate is a finding only if the GPU was working when it was
// read, or if nothing tells. NICs do not do this.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

std::string on_node(const MachineFacts& machine) {
  return machine.node.empty() ? "" : " on " + machine.node;
}

bool is_slow(const PcieLink& link) {
  return link.rate && link.best_rate && *link.rate < *link.best_rate - 0.01;
}
bool is_narrow(const PcieLink& link) {
  return link.width && link.best_width && *link.width < *link.best_width;
}

std::string link_words(const PcieLink& link) {
  std::vector<std::string> words;
  if (is_slow(link)) words.push_back(fmt::format("{} of {} GT/s", *link.rate, *link.best_rate));
  if (is_narrow(link))
    words.push_back(fmt::format("{} of {} lanes", *link.width, *link.best_width));
  return fmt::format("{}", fmt::join(words, " and "));
}

/// A PCIe link with the name of its GPU.
struct GpuLink {
  std::string name, place;
  PcieLink link;
  std::optional<bool> idle;
};

std::vector<GpuLink> gpu_links(const MachineFacts& machine) {
  std::vector<GpuLink> links;
  for (const GpuState& gpu : machine.gpus)
    if (gpu.link.rate || gpu.link.width) links.push_back({gpu.name, gpu.place, gpu.link, gpu.idle});
  // lspci lists the same links.
  if (!links.empty()) return links;
  const bool all_idle =
      !machine.gpus.empty() &&
      std::ranges::all_of(machine.gpus, [](const GpuState& g) { return g.idle == true; });
  for (const auto& [name, device] : machine.devices)
    if (device.kind == PcieDevice::Kind::gpu)
      links.push_back({"GPU " + name, device.place, device.link,
                       all_idle ? std::optional(true) : std::nullopt});
  return links;
}

void add_gpu_links(const MachineFacts& machine, std::vector<Finding>& findings) {
  std::vector<std::string> unknown;
  const GpuLink* first = nullptr;
  const std::vector<GpuLink> links = gpu_links(machine);
  for (const GpuLink& gpu : links) {
    const bool slow_at_work = is_slow(gpu.link) && gpu.idle == false;
    if (slow_at_work || is_narrow(gpu.link)) {
      findings.push_back(
          {.what = CauseClass::pcie_link_below_its_best,
           .says = fmt::format(
               "{}{} has a PCIe link of {}{}. Copies, input and GPU traffic without NVLink are "
               "slower by the same factor. Reseat card or riser and check slot settings and "
               "dmesg, unless the slot allows no more",
               gpu.name, on_node(machine), link_words(gpu.link),
               slow_at_work ? " while at work" : ""),
           .place = gpu.place});
    } else if (is_slow(gpu.link) && !gpu.idle) {
      if (unknown.empty()) first = &gpu;
      unknown.push_back(gpu.name);
    }
  }
  if (first == nullptr) return;
  findings.push_back(
      {.what = CauseClass::pcie_link_below_its_best,
       .says =
           fmt::format("{}{}{} shows a PCIe link of {}, which is normal for an idle GPU. Read it "
                       "again while the job runs. If it stays, reseat card or riser and check the "
                       "slot's settings",
                       unknown.front(),
                       unknown.size() > 1 ? fmt::format(" and {} more", unknown.size() - 1) : "",
                       on_node(machine), link_words(first->link)),
       .place = first->place,
       .doubtful = true});
}

/// Whether a card could be used for training: at least 8 lanes of 8 GT/s.
bool is_fast_card(const PcieLink& link) {
  return link.best_rate.value_or(0) >= 8 && link.best_width.value_or(0) >= 8;
}

void add_nic_links(const MachineFacts& machine, std::vector<Finding>& findings) {
  // A NIC may be listed by address, by RDMA device and by interface; the address covers all of
  // them.
  const auto by_address = [](const std::string& name) { return name.find(':') != name.npos; };
  const bool addresses = std::ranges::any_of(machine.devices, [&](const auto& device) {
    return by_address(device.first) && device.second.kind == PcieDevice::Kind::nic &&
           device.second.link.rate;
  });
  for (const auto& [name, device] : machine.devices) {
    if (addresses && !by_address(name)) continue;
    if (device.kind != PcieDevice::Kind::nic || !is_fast_card(device.link)) continue;
    if (!is_slow(device.link) && !is_narrow(device.link)) continue;
    findings.push_back(
        {.what = CauseClass::nic_below_its_best,
         .says =
             fmt::format("the NIC {}{}{} has a PCIe link of {} and sends no faster than that. "
                         "Reseat it and check the slot's settings, unless the slot allows no more",
                         name, device.title.empty() ? "" : " (" + device.title + ")",
                         on_node(machine), link_words(device.link)),
         .place = device.place});
  }
}

std::string card_of(const MachineFacts& machine, const std::string& port) {
  const auto device = machine.devices.find(std::string(up_to(port, "/")));
  return device == machine.devices.end() ? "" : device->second.title;
}

/// Compares a port with others of its kind: ports of the same card on this node, and ports of the
/// same name on other nodes.
void add_ports(const std::vector<MachineFacts>& machines, std::vector<Finding>& findings) {
  std::map<std::string, double> best_by_name;
  std::set<std::string> active_somewhere;
  for (const MachineFacts& machine : machines)
    for (const auto& [name, port] : machine.ports) {
      if (port.state == "ACTIVE") active_somewhere.insert(name);
      if (port.rate_gbps) best_by_name[name] = std::max(best_by_name[name], *port.rate_gbps);
    }
  for (const MachineFacts& machine : machines) {
    std::map<std::string, double> best_by_card;
    for (const auto& [name, port] : machine.ports)
      if (const std::string card = card_of(machine, name); !card.empty() && port.rate_gbps)
        best_by_card[card] = std::max(best_by_card[card], *port.rate_gbps);
    for (const auto& [name, port] : machine.ports) {
      if (port.state == "DOWN" && active_somewhere.contains(name)) {
        findings.push_back(
            {.what = CauseClass::nic_port_down,
             .says = fmt::format("the port {}{} is down but up on other nodes, so its node sends "
                                 "over fewer NICs. Check cable and switch",
                                 name, on_node(machine)),
             .place = port.place});
        continue;
      }
      if (!port.rate_gbps || port.state == "DOWN") continue;
      const std::string card = card_of(machine, name);
      const double elsewhere = best_by_name[name];
      const double beside = card.empty() ? 0 : best_by_card[card];
      const double best = std::max(elsewhere, beside);
      if (*port.rate_gbps > 0.99 * best) continue;
      findings.push_back(
          {.what = CauseClass::nic_below_its_best,
           .says = fmt::format(
               "the port {}{} runs at {} Gbit/s, {} at {}. Every ring over this port is as slow. "
               "Check cable, transceiver, switch port and errors",
               name, on_node(machine), *port.rate_gbps,
               elsewhere >= beside ? "the same port of other nodes" : "others of the same card",
               best),
           .place = port.place});
    }
  }
}

void add_clocks(const MachineFacts& machine, std::vector<Finding>& findings) {
  for (const GpuState& gpu : machine.gpus) {
    if (!gpu.slowed_by.empty())
      findings.push_back(
          {.what = CauseClass::clocks_held_down,
           .says = fmt::format(
               "{}{} is held below its clocks by {}, and all ranks wait for it. Check its cooling "
               "and power supply",
               gpu.name, on_node(machine), fmt::join(gpu.slowed_by, ", ")),
           .place = gpu.place});
    if (gpu.application_sm_mhz && gpu.default_application_sm_mhz &&
        *gpu.application_sm_mhz < *gpu.default_application_sm_mhz - 0.5)
      findings.push_back(
          {.what = CauseClass::clocks_held_down,
           .says = fmt::format("{}{} has application clocks of {:.0f} MHz, by default {:.0f}. "
                               "Compute-bound kernels are slower by the same factor. `nvidia-smi "
                               "-rac` resets them",
                               gpu.name, on_node(machine), *gpu.application_sm_mhz,
                               *gpu.default_application_sm_mhz),
           .place = gpu.place});
    if (gpu.power_limit_w && gpu.default_power_limit_w &&
        *gpu.power_limit_w < *gpu.default_power_limit_w - 0.5)
      findings.push_back(
          {.what = CauseClass::power_limit_lowered,
           .says = fmt::format(
               "{}{} may draw {:.0f} W, by default {:.0f} W, so its clocks drop under load; "
               "`nvidia-smi -pl` sets the limit",
               gpu.name, on_node(machine), *gpu.power_limit_w, *gpu.default_power_limit_w),
           .place = gpu.place});
  }
}

void add_acs(const MachineFacts& machine, std::vector<Finding>& findings) {
  if (machine.acs.empty()) return;
  findings.push_back(
      {.what = CauseClass::acs_on,
       .says = fmt::format(
           "PCIe access control (ACS) redirects requests at {} port{} of switches{}. Traffic "
           "between GPUs and NICs below one switch goes through the root complex, at a fraction "
           "of its rate. If you run no virtual machines, switch it off in the BIOS or with setpci "
           "(NCCL, troubleshooting)",
           machine.acs.size(), machine.acs.size() == 1 ? "" : "s", on_node(machine)),
       .place = machine.acs_place});
}

/// Finds GPUs without NVLink on a node where most others have it.
void add_gpus_off_nvlink(const MachineFacts& machine, std::vector<Finding>& findings) {
  std::map<int, int> with_nvlink;
  for (const auto& [gpus, link] : machine.gpu_links)
    for (const int gpu : {gpus.first, gpus.second})
      with_nvlink[gpu] += link.starts_with("NV") ? 1 : 0;
  std::vector<int> off;
  for (const auto& [gpu, links] : with_nvlink)
    if (links == 0) off.push_back(gpu);
  if (off.empty() || 2 * off.size() >= with_nvlink.size()) return;
  findings.push_back(
      {.what = CauseClass::nvlink_lost,
       .says = fmt::format("GPU {}{} has no NVLink to any other GPU, but the others have it to "
                           "each other. So the rings of all ranks leave NVLink. Check `nvidia-smi "
                           "nvlink -s`, the fabric manager and dmesg (Xid 74)",
                           fmt::join(off, ", "), on_node(machine)),
       .place = machine.gpu_links_place});
}

/// Traits of a node, one word for each; empty if its evidence does not tell.
std::map<std::string, std::string> traits_of(const MachineFacts& machine) {
  std::map<std::string, std::string> traits;
  std::map<std::string, int> models;
  std::set<double> limits;
  std::set<double> clocks;
  for (const GpuState& gpu : machine.gpus) {
    if (!gpu.model.empty()) ++models[gpu.model];
    if (gpu.power_limit_w) limits.insert(*gpu.power_limit_w);
    if (gpu.most_sm_mhz) clocks.insert(*gpu.most_sm_mhz);
  }
  std::vector<std::string> counted;
  for (const auto& [model, count] : models) counted.push_back(fmt::format("{}x {}", count, model));
  if (!counted.empty()) traits["GPUs"] = fmt::format("{}", fmt::join(counted, ", "));
  if (!limits.empty()) traits["power limit in W"] = fmt::format("{}", fmt::join(limits, ", "));
  if (!clocks.empty()) traits["highest clock in MHz"] = fmt::format("{}", fmt::join(clocks, ", "));
  if (!machine.driver.empty()) traits["driver"] = machine.driver;
  int active = 0;
  for (const auto& [name, port] : machine.ports) active += port.state == "ACTIVE" ? 1 : 0;
  if (active > 0) traits["active NIC ports"] = fmt::format("{}", active);
  return traits;
}

void add_unequal_nodes(const std::vector<MachineFacts>& machines, std::vector<Finding>& findings) {
  std::map<std::string, std::map<std::string, std::vector<const MachineFacts*>>> by_trait;
  for (const MachineFacts& machine : machines)
    for (const auto& [trait, value] : traits_of(machine))
      by_trait[trait][value].push_back(&machine);
  for (const auto& [trait, values] : by_trait) {
    if (values.size() < 2) continue;
    std::vector<std::string> said;
    const MachineFacts* fewest = nullptr;
    std::size_t least = machines.size() + 1;
    for (const auto& [value, nodes] : values) {
      said.push_back(fmt::format(
          "{} ({} node{}{})", value, nodes.size(), nodes.size() == 1 ? "" : "s",
          nodes.size() == 1 && !nodes.front()->node.empty() ? ", " + nodes.front()->node : ""));
      if (nodes.size() < least) {
        least = nodes.size();
        fewest = nodes.front();
      }
    }
    findings.push_back({.what = CauseClass::unequal_nodes,
                        .says = fmt::format("nodes differ in {}: {}; the slowest node sets the "
                                            "pace, because all ranks end a step together",
                                            trait, fmt::join(said, "; ")),
                        .place = fewest->place});
  }
  for (const MachineFacts& machine : machines) {
    std::set<std::string> models;
    for (const GpuState& gpu : machine.gpus)
      if (!gpu.model.empty()) models.insert(gpu.model);
    if (models.size() < 2 || machines.size() > 1) continue;
    findings.push_back(
        {.what = CauseClass::unequal_nodes,
         .says = fmt::format("GPUs of one node differ: {}; the slowest GPU sets the pace, because "
                             "all ranks end a step together",
                             fmt::join(models, ", ")),
         .place = machine.place});
  }
}

void add_mtu(const std::vector<MachineFacts>& machines, std::vector<Finding>& findings) {
  std::map<std::string, std::map<int, const MachineFacts*>> by_interface;
  for (const MachineFacts& machine : machines)
    for (const auto& [interface, mtu] : machine.mtu)
      by_interface[interface].try_emplace(mtu.first, &machine);
  for (const auto& [interface, values] : by_interface) {
    if (values.size() < 2) continue;
    std::vector<int> bytes;
    for (const auto& [mtu, machine] : values) bytes.push_back(mtu);
    const MachineFacts* least = values.begin()->second;
    findings.push_back(
        {.what = CauseClass::mtu_unequal,
         .says = fmt::format(
             "{} has an MTU of {} bytes{}, but {} on other nodes. Packets are cut or lost, and "
             "over RoCE NCCL 2.20 and later ends with an error. Set the same MTU on all nodes and "
             "switch ports",
             interface, bytes.front(), on_node(*least), bytes.back()),
         .place = least->mtu.at(interface).second});
  }
}

}  // namespace

std::vector<Finding> machine_problems(const std::vector<MachineFacts>& machines) {
  std::vector<Finding> findings;
  for (const MachineFacts& machine : machines) {
    add_gpu_links(machine, findings);
    add_nic_links(machine, findings);
    add_clocks(machine, findings);
    add_acs(machine, findings);
    add_gpus_off_nvlink(machine, findings);
  }
  add_ports(machines, findings);
  add_unequal_nodes(machines, findings);
  add_mtu(machines, findings);
  return findings;
}

}  // namespace ddpsim
