#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ddpsim/calibrate/machine_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Of all nodes of a side together: names of nodes may be others before and after.
struct MachinesSummary {
  std::map<std::string, int> models;
  std::set<std::string> drivers;
  std::optional<double> least_power_w, least_clock_mhz, least_port_gbps;
  std::optional<double> least_best_rate, least_rate_at_work;
  std::optional<int> least_best_width;
  int active_ports = 0;
  std::map<std::string, int> least_mtu;
};

template <typename Number>
void keep_least(std::optional<Number>& least, const std::optional<Number>& value) {
  if (value && (!least || *value < *least)) least = value;
}

MachinesSummary summary_of(const std::vector<MachineFacts>& machines) {
  MachinesSummary all;
  for (const MachineFacts& machine : machines) {
    if (!machine.driver.empty()) all.drivers.insert(machine.driver);
    for (const GpuState& gpu : machine.gpus) {
      if (!gpu.model.empty()) ++all.models[gpu.model];
      keep_least(all.least_power_w, gpu.power_limit_w);
      keep_least(all.least_clock_mhz,
                 gpu.application_sm_mhz ? gpu.application_sm_mhz : gpu.most_sm_mhz);
      keep_least(all.least_best_rate, gpu.link.best_rate);
      keep_least(all.least_best_width, gpu.link.best_width);
      if (gpu.idle == false) keep_least(all.least_rate_at_work, gpu.link.rate);
    }
    for (const auto& [name, port] : machine.ports) {
      if (port.state == "DOWN") continue;
      if (port.state == "ACTIVE") ++all.active_ports;
      keep_least(all.least_port_gbps, port.rate_gbps);
    }
    for (const auto& [interface, mtu] : machine.mtu) {
      const auto [at, first] = all.least_mtu.try_emplace(interface, mtu.first);
      if (!first) at->second = std::min(at->second, mtu.first);
    }
  }
  return all;
}

std::string models_of(const MachinesSummary& all) {
  std::vector<std::string> words;
  for (const auto& [model, count] : all.models)
    words.push_back(fmt::format("{}x {}", count, model));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<Finding> machine_changes(const std::vector<MachineFacts>& before,
                                     const std::vector<MachineFacts>& after) {
  std::vector<Finding> findings;
  if (before.empty() || after.empty()) return findings;
  const MachinesSummary was = summary_of(before);
  const MachinesSummary is = summary_of(after);
  const std::string place = after.front().place.empty() ? "machines" : after.front().place;
  const auto say = [&](FindingClass what, std::string says) {
    const bool is_other =
        what == FindingClass::hardware_changed || what == FindingClass::version_changed;
    findings.push_back({.what = what,
                        .says = std::move(says),
                        .place = place,
                        .effect = is_other ? FindingEffect::either : FindingEffect::costs});
  };
  if (!was.models.empty() && !is.models.empty() && was.models != is.models)
    say(FindingClass::hardware_changed,
        fmt::format(
            "GPUs were {} and are {}: compare samples per second and GPU, and kernels of one "
            "GPU alone",
            models_of(was), models_of(is)));
  if (!was.drivers.empty() && !is.drivers.empty() && was.drivers != is.drivers)
    say(FindingClass::version_changed,
        fmt::format(
            "the driver was {} and is {}: compare kernels of one GPU alone, and all_reduce_perf",
            fmt::join(was.drivers, ", "), fmt::join(is.drivers, ", ")));
  const auto lower = [](const auto& old_value, const auto& new_value) {
    return old_value && new_value &&
           static_cast<double>(*new_value) < 0.995 * static_cast<double>(*old_value);
  };
  if (lower(was.least_power_w, is.least_power_w) && was.models == is.models)
    say(FindingClass::power_limit_lowered,
        fmt::format(
            "the lowest power limit of a GPU was {:.0f} W and is {:.0f} W: clocks fall under "
            "load; nvidia-smi -pl sets it",
            *was.least_power_w, *is.least_power_w));
  if (lower(was.least_clock_mhz, is.least_clock_mhz) && was.models == is.models)
    say(FindingClass::clocks_held_down,
        fmt::format(
            "the lowest clock that a GPU may have was {:.0f} MHz and is {:.0f}: kernels bound "
            "by compute are slower by as much",
            *was.least_clock_mhz, *is.least_clock_mhz));
  if (lower(was.least_best_rate, is.least_best_rate) ||
      lower(was.least_best_width, is.least_best_width))
    say(FindingClass::pcie_link_below_its_best,
        fmt::format(
            "card and slot of a GPU allow {} GT/s and {} lanes, and allowed {} and {} before: "
            "copies and traffic without NVLink are slower",
            is.least_best_rate.value_or(0), is.least_best_width.value_or(0),
            was.least_best_rate.value_or(0), was.least_best_width.value_or(0)));
  else if (lower(was.least_rate_at_work, is.least_rate_at_work))
    say(FindingClass::pcie_link_below_its_best,
        fmt::format(
            "the slowest PCIe link of a GPU at work ran at {} GT/s a lane and runs at {} now",
            *was.least_rate_at_work, *is.least_rate_at_work));
  if (lower(was.least_port_gbps, is.least_port_gbps))
    say(FindingClass::nic_below_its_best,
        fmt::format(
            "the slowest NIC port ran at {} Gbit/s and runs at {} now: look at cable, switch "
            "port and firmware",
            *was.least_port_gbps, *is.least_port_gbps));
  const auto per_node = [](int ports, const std::vector<MachineFacts>& machines) {
    return static_cast<double>(ports) / static_cast<double>(machines.size());
  };
  if (is.active_ports > 0 &&
      per_node(is.active_ports, after) < per_node(was.active_ports, before) - 1e-9)
    say(FindingClass::fewer_nics,
        fmt::format("{} NIC ports were active on {} nodes, now {} on {}: bandwidth goes with their "
                    "number",
                    was.active_ports, before.size(), is.active_ports, after.size()));
  for (const auto& [interface, mtu] : is.least_mtu) {
    const auto at = was.least_mtu.find(interface);
    if (at == was.least_mtu.end() || at->second == mtu) continue;
    say(FindingClass::mtu_unequal,
        fmt::format(
            "the MTU of {} was {} bytes and is {}: smaller packets cost the host time over TCP, "
            "and over RoCE bandwidth",
            interface, at->second, mtu));
    findings.back().effect = mtu < at->second ? FindingEffect::costs : FindingEffect::relieves;
  }
  return findings;
}

}  // namespace ddpsim
