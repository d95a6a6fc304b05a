// NICs and their ports, before and now: those that channels use, those that NCCL lists, and what it
// says about each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "nccl_changes.hpp"
#include "ranks_of_both.hpp"

namespace ddpsim {
namespace {

/// The port in a listed name: "mlx5_0:1" of "mlx5_0:1/IB/SHARP". Another protocol on it does not
/// make it another NIC.
std::string port_of(const std::string& listed) {
  return listed.substr(0, listed.find('/'));
}

using Ports = std::set<std::pair<std::string, std::string>>;  ///< host and name

/// Ports of the NICs that channels name by index. Absent if the log lists none, because an index is
/// no name.
struct NamedPorts {
  std::optional<Ports> ports;
  /// NCCL made this device from several ports without saying which.
  bool beyond_list = false;
};
NamedPorts ports_of(const NcclFacts& facts, const std::set<std::pair<std::string, int>>& nics) {
  NamedPorts named{.ports = Ports()};
  for (const auto& [host, index] : nics) {
    const auto listed = facts.nics.find(host);
    const auto made = facts.virtual_nics.find({host, index});
    if (made != facts.virtual_nics.end()) {
      for (const std::string& part : made->second) {
        std::string port = part;
        if (listed != facts.nics.end())
          for (const std::string& one : listed->second)
            if (one.starts_with(part + ":") && !named.ports->contains({host, port_of(one)})) {
              port = port_of(one);
              break;
            }
        named.ports->insert({host, port});
      }
      continue;
    }
    if (listed == facts.nics.end()) return {};
    if (static_cast<std::size_t>(index) >= listed->second.size())
      return {.ports = {}, .beyond_list = true};
    named.ports->insert({host, port_of(listed->second[static_cast<std::size_t>(index)])});
  }
  return named;
}

std::set<std::string> names_of(const Ports& ports) {
  std::set<std::string> names;
  for (const auto& [host, name] : ports) names.insert(name);
  return names;
}

/// Whether the NICs may be ports merged into new devices: an index exceeds the listed NICs, or
/// fewer indices all lie above those of the other side.
bool may_be_merged(const std::set<int>& some, const std::set<int>& others, std::size_t listed) {
  return (listed > 0 && static_cast<std::size_t>(*some.rbegin()) >= listed) ||
         (some.size() < others.size() && *some.begin() > *others.rbegin());
}

std::size_t most_listed(const NcclFacts& facts) {
  std::size_t most = 0;
  for (const auto& [host, nics] : facts.nics) most = std::max(most, nics.size());
  return most;
}

void say_nics(std::size_t was, const std::set<std::string>& old_names, std::size_t is,
              const std::set<std::string>& new_names, const NcclFacts& after,
              std::vector<Finding>& findings) {
  if (was == is && old_names == new_names) return;
  const bool fewer = is < was;
  const bool more = is > was;
  findings.push_back(
      {.what = fewer || more ? CauseClass::fewer_nics : CauseClass::other_nic,
       .says = fmt::format(
           "channels of the same ranks used {} NIC{} ({}), now {} ({}){}. Check NCCL_IB_HCA, "
           "NCCL_CROSS_NIC, the NICs' ports and the topology file",
           was, was == 1 ? "" : "s", fmt::join(old_names, ", "), is, fmt::join(new_names, ", "),
           fewer ? ", and bandwidth is proportional to their number" : ""),
       .place = after.network_places.empty() ? "NCCL's log" : after.network_places.begin()->second,
       .effect = fewer  ? FindingEffect::costs
                 : more ? FindingEffect::relieves
                        : FindingEffect::either});
}

/// Whether channels use everything that both sides list, but nothing that only `more` lists.
bool is_unused(const NcclFacts& more, const NcclFacts& fewer) {
  std::set<std::pair<std::string, int>> used;
  for (const auto& [rank, lines] : more.ranks)
    if (lines.complete) used.insert(lines.nics.begin(), lines.nics.end());
  const NamedPorts ports = ports_of(more, used);
  if (!ports.ports) return false;
  std::set<std::string> rest;
  for (const auto& [host, nics] : fewer.nics)
    for (const std::string& nic : nics) rest.insert(port_of(nic));
  return !rest.empty() && names_of(*ports.ports) == rest;
}

}  // namespace

void add_nics(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (network_names(before) != network_names(after) || before.merged_nics || after.merged_nics)
    return;
  const RanksOfBoth::Nics use = RanksOfBoth(before, after).nics();
  if (use.before.empty() || use.after.empty()) return;
  const NamedPorts was = ports_of(before, use.before);
  const NamedPorts is = ports_of(after, use.after);
  if (was.beyond_list || is.beyond_list) return;
  if (was.ports && is.ports) {
    say_nics(was.ports->size(), names_of(*was.ports), is.ports->size(), names_of(*is.ports), after,
             findings);
    return;
  }
  const auto indices = [](const std::set<std::pair<std::string, int>>& nics) {
    std::set<int> all;
    for (const auto& [host, index] : nics) all.insert(index);
    return all;
  };
  const std::set<int> old_indices = indices(use.before), new_indices = indices(use.after);
  const std::size_t listed = std::max(most_listed(before), most_listed(after));
  if (may_be_merged(old_indices, new_indices, listed) ||
      may_be_merged(new_indices, old_indices, listed))
    return;
  const auto words = [](const std::set<int>& all) {
    std::set<std::string> names;
    for (const int index : all) names.insert(fmt::format("NIC {}", index));
    return names;
  };
  say_nics(use.before.size(), words(old_indices), use.after.size(), words(new_indices), after,
           findings);
}

void add_listed_nics(const NcclFacts& before, const NcclFacts& after,
                     std::vector<Finding>& findings) {
  const auto most = [](const NcclFacts& facts) {
    return std::max(static_cast<std::size_t>(std::max(facts.provider_nics.value_or(0), 0)),
                    most_listed(facts));
  };
  const bool said = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.what == CauseClass::fewer_nics ||
           finding.what == CauseClass::socket_instead_of_ib;
  });
  if (said || before.merged_nics || after.merged_nics || most(after) == 0 || most(before) == 0 ||
      most(after) == most(before))
    return;
  const bool fewer = most(after) < most(before);
  if (fewer ? is_unused(before, after) : is_unused(after, before)) return;
  findings.push_back(
      {.what = CauseClass::fewer_nics,
       .says = fmt::format(
           "{} NICs were found on a node, now {}{}", most(before), most(after),
           fewer ? "; check NCCL_IB_HCA, the NICs' ports and which NICs the container shows" : ""),
       .place = after.provider_nics ? after.provider->place : "NCCL's log",
       .effect = fewer ? FindingEffect::costs : FindingEffect::relieves});
}

void add_nic_links(const NcclFacts& before, const NcclFacts& after,
                   std::vector<Finding>& findings) {
  const auto links = [](const NcclFacts& facts) {
    std::map<std::string, std::string> all;
    for (const auto& [host, nics] : facts.nics)
      for (const std::string& nic : nics)
        all.try_emplace(port_of(nic),
                        nic.find("/RoCE") != std::string::npos ? "RoCE" : "InfiniBand");
    return all;
  };
  const std::map<std::string, std::string> was = links(before), is = links(after);
  for (const auto& [port, link] : is) {
    const auto old = was.find(port);
    if (old == was.end() || old->second == link) continue;
    findings.push_back(
        {.what = CauseClass::transport_changed,
         .says = fmt::format("the NIC {} was on {} and is on {}. Measure all_reduce_perf, and "
                             "over RoCE check NCCL_IB_GID_INDEX, NCCL_IB_TC and the switches' "
                             "flow control",
                             port, old->second, link),
         .place = "NCCL's log"});
    break;
  }
  const std::string* slower = nullptr;
  const std::string* faster = nullptr;
  for (const auto& [port, speed] : after.nic_gbps)
    if (const auto old = before.nic_gbps.find(port); old != before.nic_gbps.end()) {
      if (speed.first < old->second.first && slower == nullptr) slower = &port;
      if (speed.first > old->second.first && faster == nullptr) faster = &port;
    }
  for (const std::string* port : {slower, faster}) {
    if (port == nullptr) continue;
    const auto& [speed, place] = after.nic_gbps.at(*port);
    findings.push_back(
        {.what = CauseClass::nic_below_its_best,
         .says = fmt::format("the port of NIC {} ran at {} Gbit/s and now runs at {}{}", *port,
                             before.nic_gbps.at(*port).first, speed,
                             port == slower ? "; check cable, switch port and firmware" : ""),
         .place = place,
         .effect = port == slower ? FindingEffect::costs : FindingEffect::relieves});
  }
}

}  // namespace ddpsim
