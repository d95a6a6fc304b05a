#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Of all nodes of a side together: names of nodes may be others before and after.
struct MachinesSummary {
  std::map<std::string, int> models;
  std::set<std::string> drivers;
  std::optional<double> least_power_w, least_clock_mhz, least_port_gbps;
  std::optional<double> least_best_rate, least_rate_at_work;
  std::optional<int> least_best_width, least_width;
  std::optional<double> least_clock_at_work;
  int active_ports = 0;
  std::map<std::string, int> least_mtu;
  std::map<std::string, std::pair<std::string, std::string>> interfaces;  ///< DOWN where one is
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
      keep_least(all.least_width, gpu.link.width);
      if (gpu.idle == false) {
        keep_least(all.least_rate_at_work, gpu.link.rate);
        if (!gpu.power_capped) keep_least(all.least_clock_at_work, gpu.sm_mhz);
      }
    }
    for (const auto& [name, port] : machine.ports) {
      if (port.state == "DOWN") continue;
      if (port.state == "ACTIVE") ++all.active_ports;
      keep_least(all.least_port_gbps, port.rate_gbps);
    }
    for (const auto& [interface, state] : machine.interface_states) {
      const auto [at, first] = all.interfaces.try_emplace(interface, state);
      if (!first && state.first == "DOWN") at->second = state;
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

/// "NV12" has twelve links, "SYS" none.
int nvlinks(const std::string& link) {
  return link.starts_with("NV") ? leading_number<int>(std::string_view(link).substr(2)).value_or(0)
                                : 0;
}

/// Pairs of GPUs of the first node of both sides, whose matrices have as many GPUs.
void add_nvlink_changes(const std::vector<MachineFacts>& before,
                        const std::vector<MachineFacts>& after, std::vector<Finding>& findings) {
  const auto with_matrix = [](const MachineFacts& machine) { return !machine.gpu_links.empty(); };
  const auto was = std::ranges::find_if(before, with_matrix);
  const auto is = std::ranges::find_if(after, with_matrix);
  if (was == before.end() || is == after.end() || was->gpu_links.size() != is->gpu_links.size())
    return;
  std::vector<std::string> lost, gained;
  for (const auto& [gpus, link] : is->gpu_links) {
    const auto at = was->gpu_links.find(gpus);
    if (at == was->gpu_links.end() || nvlinks(at->second) == nvlinks(link)) continue;
    (nvlinks(link) < nvlinks(at->second) ? lost : gained)
        .push_back(
            fmt::format("GPU{} and GPU{} ({}, now {})", gpus.first, gpus.second, at->second, link));
  }
  constexpr std::size_t kMostPairs = 4;
  for (auto* pairs : {&lost, &gained}) {
    if (pairs->empty()) continue;
    const std::size_t all = pairs->size();
    if (all > kMostPairs) pairs->resize(kMostPairs);
    findings.push_back(
        {.what = CauseClass::nvlink_lost,
         .says = fmt::format("{} pair{} of GPUs {} NVLinks: {}{}", all, all == 1 ? "" : "s",
                             pairs == &lost ? "lost" : "gained", fmt::join(*pairs, ", "),
                             all > kMostPairs ? fmt::format(" and {} more", all - kMostPairs) : ""),
         .place = is->gpu_links_place,
         .effect = pairs == &lost ? FindingEffect::costs : FindingEffect::relieves});
  }
}

}  // namespace

std::vector<Finding> machine_changes(const std::vector<MachineFacts>& before,
                                     const std::vector<MachineFacts>& after) {
  std::vector<Finding> findings;
  if (before.empty() || after.empty()) return findings;
  const MachinesSummary was = summary_of(before);
  const MachinesSummary is = summary_of(after);
  const std::string place = after.front().place.empty() ? "machines" : after.front().place;
  const auto say = [&](CauseClass what, std::string says) {
    const bool is_other =
        what == CauseClass::hardware_changed || what == CauseClass::version_changed;
    findings.push_back({.what = what,
                        .says = std::move(says),
                        .place = place,
                        .effect = is_other ? FindingEffect::either : FindingEffect::costs});
  };
  if (!was.models.empty() && !is.models.empty() && was.models != is.models)
    say(CauseClass::hardware_changed,
        fmt::format(
            "GPUs were {} and are {}: compare samples per second and GPU, and kernels of one "
            "GPU alone",
            models_of(was), models_of(is)));
  if (!was.drivers.empty() && !is.drivers.empty() && was.drivers != is.drivers)
    say(CauseClass::version_changed,
        fmt::format(
            "the driver was {} and is {}: compare kernels of one GPU alone, and all_reduce_perf",
            fmt::join(was.drivers, ", "), fmt::join(is.drivers, ", ")));
  // A value may have fallen, or have been put right.
  const auto changed = [](const auto& old_value, const auto& new_value) -> std::optional<bool> {
    if (!old_value || !new_value) return std::nullopt;
    const auto was_value = static_cast<double>(*old_value);
    const auto is_value = static_cast<double>(*new_value);
    if (is_value < 0.995 * was_value) return true;
    if (was_value < 0.995 * is_value) return false;
    return std::nullopt;
  };
  const auto say_change = [&](CauseClass what, bool worse, std::string says,
                              std::string_view remedy) {
    say(what, worse ? fmt::format("{}: {}", says, remedy) : std::move(says));
    findings.back().effect = worse ? FindingEffect::costs : FindingEffect::relieves;
  };
  const auto other_limit = changed(was.least_power_w, is.least_power_w);
  if (const auto worse = other_limit; worse && was.models == is.models)
    say_change(CauseClass::power_limit_lowered, *worse,
               fmt::format("the lowest power limit of a GPU was {:.0f} W and is {:.0f} W",
                           *was.least_power_w, *is.least_power_w),
               "clocks fall under load; nvidia-smi -pl sets it");
  if (const auto worse = changed(was.least_clock_mhz, is.least_clock_mhz);
      worse && was.models == is.models)
    say_change(CauseClass::clocks_held_down, *worse,
               fmt::format("the lowest clock limit of a GPU was {:.0f} MHz and is {:.0f} MHz",
                           *was.least_clock_mhz, *is.least_clock_mhz),
               "kernels bound by compute are slower by as much");
  // Clocks move with load and temperature by themselves, and with a power limit: so far they do not.
  else if (constexpr double kFar = 0.9;
           was.models == is.models && !other_limit && was.least_clock_at_work &&
           is.least_clock_at_work &&
           std::min(*was.least_clock_at_work, *is.least_clock_at_work) <
               kFar * std::max(*was.least_clock_at_work, *is.least_clock_at_work))
    say_change(CauseClass::clocks_held_down, *is.least_clock_at_work < *was.least_clock_at_work,
               fmt::format("the lowest SM clock of a GPU at work was {:.0f} MHz and is {:.0f} MHz",
                           *was.least_clock_at_work, *is.least_clock_at_work),
               "look at locked clocks (nvidia-smi -lgc), power and temperature");
  const auto rate = changed(was.least_best_rate, is.least_best_rate);
  const auto width = changed(was.least_best_width, is.least_best_width);
  if (rate || width)
    say_change(
        CauseClass::pcie_link_below_its_best, rate.value_or(false) || width.value_or(false),
        fmt::format(
            "card and slot of a GPU allow {} GT/s and {} lanes, and allowed {} and {} before",
            is.least_best_rate.value_or(0), is.least_best_width.value_or(0),
            was.least_best_rate.value_or(0), was.least_best_width.value_or(0)),
        "copies and traffic without NVLink are slower");
  else if (const auto worse = changed(was.least_rate_at_work, is.least_rate_at_work))
    say_change(
        CauseClass::pcie_link_below_its_best, *worse,
        fmt::format("the slowest PCIe link of a GPU at work ran at {} GT/s a lane and runs at "
                    "{} now",
                    *was.least_rate_at_work, *is.least_rate_at_work),
        "reseat card or riser");
  else if (const auto narrower = changed(was.least_width, is.least_width))
    say_change(CauseClass::pcie_link_below_its_best, *narrower,
               fmt::format("the narrowest PCIe link of a GPU had {} lanes and has {}",
                           *was.least_width, *is.least_width),
               "reseat card or riser");
  if (const auto worse = changed(was.least_port_gbps, is.least_port_gbps))
    say_change(CauseClass::nic_below_its_best, *worse,
               fmt::format("the slowest NIC port ran at {} Gbit/s and runs at {} now",
                           *was.least_port_gbps, *is.least_port_gbps),
               "look at cable, switch port and firmware");
  const auto per_node = [](int ports, const std::vector<MachineFacts>& machines) {
    return static_cast<double>(ports) / static_cast<double>(machines.size());
  };
  const double old_ports = per_node(was.active_ports, before);
  const double new_ports = per_node(is.active_ports, after);
  if (was.active_ports > 0 && is.active_ports > 0 &&
      std::max(old_ports - new_ports, new_ports - old_ports) > 1e-9)
    say_change(
        CauseClass::fewer_nics, new_ports < old_ports,
        fmt::format("active NIC ports: {} on {} node{} before, {} on {} now", was.active_ports,
                    before.size(), before.size() == 1 ? "" : "s", is.active_ports, after.size()),
        "bandwidth goes with their number");
  add_nvlink_changes(before, after, findings);
  for (const auto& [interface, state] : is.interfaces) {
    const auto at = was.interfaces.find(interface);
    if (at == was.interfaces.end() || at->second.first == state.first) continue;
    const bool down = state.first == "DOWN" && at->second.first == "UP";
    if (!down && !(state.first == "UP" && at->second.first == "DOWN")) continue;
    say_change(CauseClass::nic_port_down, down,
               fmt::format("the interface {} was {} and is {}", interface,
                           down ? "up" : "down on a node", down ? "down on a node" : "up"),
               "look at cable, switch port and driver");
    findings.back().place = state.second;
  }
  for (const auto& [interface, mtu] : is.least_mtu) {
    const auto at = was.least_mtu.find(interface);
    if (at == was.least_mtu.end() || at->second == mtu) continue;
    say(CauseClass::mtu_unequal,
        fmt::format(
            "the MTU of {} was {} bytes and is {}: smaller packets cost the host time over TCP, "
            "and over RoCE bandwidth",
            interface, at->second, mtu));
    findings.back().effect = mtu < at->second ? FindingEffect::costs : FindingEffect::relieves;
  }
  return findings;
}

}  // namespace ddpsim
