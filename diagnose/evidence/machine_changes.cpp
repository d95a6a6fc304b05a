#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Summary over all nodes of a side, because the names of nodes may differ before and after.
struct MachinesSummary {
  std::map<std::string, int> models;
  std::set<std::string> drivers;
  std::optional<double> least_power_w, least_clock_mhz, least_port_gbps;
  std::optional<double> least_best_rate, least_rate_at_work;
  std::optional<int> least_best_width, least_width;
  std::optional<double> least_clock_at_work;
  int active_ports = 0;
  std::map<std::string, int> least_mtu;
  std::map<std::string, std::pair<std::string, std::string>>
      interfaces;  ///< DOWN if it is down on one node
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

/// Number of links: "NV12" has twelve, "SYS" none.
int nvlinks(const std::string& link) {
  return link.starts_with("NV") ? leading_number<int>(std::string_view(link).substr(2)).value_or(0)
                                : 0;
}

/// Compares pairs of GPUs on the first node of both sides whose matrices have the same number of
/// GPUs.
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

/// True if a value has fallen, false if it was restored. Absent if it is unchanged or one side
/// lacks it.
template <typename Number>
std::optional<bool> has_fallen(const std::optional<Number>& before,
                               const std::optional<Number>& after) {
  if (!before || !after) return std::nullopt;
  const auto was = static_cast<double>(*before);
  const auto is = static_cast<double>(*after);
  if (is < 0.995 * was) return true;
  if (was < 0.995 * is) return false;
  return std::nullopt;
}

/// Compares the machines of two sides. Each part appends its findings.
class MachineComparison {
 public:
  MachineComparison(const std::vector<MachineFacts>& before, const std::vector<MachineFacts>& after)
      : before_(before),
        after_(after),
        was_(summary_of(before)),
        is_(summary_of(after)),
        place_(after.front().place.empty() ? "machines" : after.front().place) {}

  std::vector<Finding> run() {
    add_models_and_drivers();
    add_limits_of_gpus();
    add_links_of_gpus();
    add_nic_ports();
    add_nvlink_changes(before_, after_, findings_);
    add_interface_states();
    add_mtu_changes();
    return std::move(findings_);
  }

 private:
  void say(CauseClass what, std::string says, FindingEffect effect) {
    findings_.push_back({.what = what, .says = std::move(says), .place = place_, .effect = effect});
  }
  /// A change for the worse has a remedy; a change for the better needs none.
  void say_change(CauseClass what, bool worse, std::string says, std::string_view remedy) {
    say(what, worse ? fmt::format("{}: {}", says, remedy) : std::move(says),
        worse ? FindingEffect::costs : FindingEffect::relieves);
  }
  /// Reports that a value has fallen or was restored; returns false if it is unchanged. `says`
  /// takes the old and the new value.
  template <typename Number>
  bool say_if_changed(CauseClass what, const std::optional<Number>& was,
                      const std::optional<Number>& is,
                      fmt::format_string<const Number&, const Number&> says,
                      std::string_view remedy) {
    const auto worse = has_fallen(was, is);
    if (worse) say_change(what, *worse, fmt::format(says, *was, *is), remedy);
    return worse.has_value();
  }
  void add_models_and_drivers();
  void add_limits_of_gpus();
  void add_links_of_gpus();
  void add_nic_ports();
  void add_interface_states();
  void add_mtu_changes();

  const std::vector<MachineFacts>& before_;
  const std::vector<MachineFacts>& after_;
  const MachinesSummary was_, is_;
  const std::string place_;
  std::vector<Finding> findings_;
};

void MachineComparison::add_models_and_drivers() {
  if (!was_.models.empty() && !is_.models.empty() && was_.models != is_.models)
    say(CauseClass::hardware_changed,
        fmt::format(
            "GPUs were {} and are {}: compare samples per second per GPU, and kernels of a single "
            "GPU",
            models_of(was_), models_of(is_)),
        FindingEffect::either);
  if (!was_.drivers.empty() && !is_.drivers.empty() && was_.drivers != is_.drivers)
    say(CauseClass::version_changed,
        fmt::format(
            "the driver was {} and is {}: compare kernels of a single GPU, and all_reduce_perf",
            fmt::join(was_.drivers, ", "), fmt::join(is_.drivers, ", ")),
        FindingEffect::either);
}

/// Power limits and clocks; only if the GPUs are the same.
void MachineComparison::add_limits_of_gpus() {
  if (was_.models != is_.models) return;
  const bool other_limit =
      say_if_changed(CauseClass::power_limit_lowered, was_.least_power_w, is_.least_power_w,
                     "the lowest power limit of a GPU was {:.0f} W and is {:.0f} W",
                     "clocks drop under load; `nvidia-smi -pl` sets the limit");
  if (say_if_changed(CauseClass::clocks_held_down, was_.least_clock_mhz, is_.least_clock_mhz,
                     "the lowest clock limit of a GPU was {:.0f} MHz and is {:.0f} MHz",
                     "compute-bound kernels are slower by the same factor"))
    return;
  // Clocks vary with load and temperature, and with a power limit, but not by more than this.
  constexpr double kFar = 0.9;
  const std::optional<double>& was = was_.least_clock_at_work;
  const std::optional<double>& is = is_.least_clock_at_work;
  if (!other_limit && was && is && std::min(*was, *is) < kFar * std::max(*was, *is))
    say_change(CauseClass::clocks_held_down, *is < *was,
               fmt::format("the lowest SM clock of a GPU at work was {:.0f} MHz and is {:.0f} MHz",
                           *was, *is),
               "look at locked clocks (nvidia-smi -lgc), power and temperature");
}

/// The maximum of card and slot tells more than the state of the links when they were read.
void MachineComparison::add_links_of_gpus() {
  const auto rate = has_fallen(was_.least_best_rate, is_.least_best_rate);
  const auto width = has_fallen(was_.least_best_width, is_.least_best_width);
  if (rate || width) {
    say_change(
        CauseClass::pcie_link_below_its_best, rate.value_or(false) || width.value_or(false),
        fmt::format(
            "card and slot of a GPU allow {} GT/s and {} lanes; before, they allowed {} and {}",
            is_.least_best_rate.value_or(0), is_.least_best_width.value_or(0),
            was_.least_best_rate.value_or(0), was_.least_best_width.value_or(0)),
        "copies and traffic without NVLink are slower");
    return;
  }
  if (!say_if_changed(
          CauseClass::pcie_link_below_its_best, was_.least_rate_at_work, is_.least_rate_at_work,
          "the slowest PCIe link of a GPU at work ran at {} GT/s per lane and now runs at {}",
          "reseat card or riser"))
    say_if_changed(CauseClass::pcie_link_below_its_best, was_.least_width, is_.least_width,
                   "the narrowest PCIe link of a GPU had {} lanes and has {}",
                   "reseat card or riser");
}

/// Speed and number of the NIC ports.
void MachineComparison::add_nic_ports() {
  say_if_changed(CauseClass::nic_below_its_best, was_.least_port_gbps, is_.least_port_gbps,
                 "the slowest NIC port ran at {} Gbit/s and now runs at {}",
                 "look at cable, switch port and firmware");
  const auto per_node = [](int ports, const std::vector<MachineFacts>& machines) {
    return static_cast<double>(ports) / static_cast<double>(machines.size());
  };
  const double old_ports = per_node(was_.active_ports, before_);
  const double new_ports = per_node(is_.active_ports, after_);
  if (was_.active_ports > 0 && is_.active_ports > 0 &&
      std::max(old_ports - new_ports, new_ports - old_ports) > 1e-9)
    say_change(CauseClass::fewer_nics, new_ports < old_ports,
               fmt::format("active NIC ports: {} on {} node{} before, {} on {} now",
                           was_.active_ports, before_.size(), before_.size() == 1 ? "" : "s",
                           is_.active_ports, after_.size()),
               "bandwidth is proportional to their number");
}

void MachineComparison::add_interface_states() {
  for (const auto& [interface, state] : is_.interfaces) {
    const auto at = was_.interfaces.find(interface);
    if (at == was_.interfaces.end() || at->second.first == state.first) continue;
    const bool down = state.first == "DOWN" && at->second.first == "UP";
    if (!down && !(state.first == "UP" && at->second.first == "DOWN")) continue;
    say_change(CauseClass::nic_port_down, down,
               fmt::format("the interface {} was {} and is {}", interface,
                           down ? "up" : "down on a node", down ? "down on a node" : "up"),
               "look at cable, switch port and driver");
    findings_.back().place = state.second;
  }
}

void MachineComparison::add_mtu_changes() {
  for (const auto& [interface, mtu] : is_.least_mtu) {
    const auto at = was_.least_mtu.find(interface);
    if (at == was_.least_mtu.end() || at->second == mtu) continue;
    say(CauseClass::mtu_unequal,
        fmt::format(
            "the MTU of {} was {} bytes and is {}: smaller packets cost host time over TCP, and "
            "bandwidth over RoCE",
            interface, at->second, mtu),
        mtu < at->second ? FindingEffect::costs : FindingEffect::relieves);
  }
}

}  // namespace

std::vector<Finding> machine_changes(const std::vector<MachineFacts>& before,
                                     const std::vector<MachineFacts>& after) {
  if (before.empty() || after.empty()) return {};
  return MachineComparison(before, after).run();
}

}  // namespace ddpsim
