// What channels between nodes use, before and now: NVLink, a plugin's network, TCP sockets, GPU
// memory, or nothing outside the node.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "nccl_changes.hpp"
#include "ranks_of_both.hpp"

namespace ddpsim {
namespace {

/// Whether the network is NCCL's own. Any other name belongs to a plugin, which must then be
/// loaded.
bool is_built_in(const std::string& network) {
  return network == "IB" || network == "Socket";
}

bool uses_plugin(const NcclFacts& facts) {
  return !facts.plugins.empty() || !facts.plugin_versions.empty() || facts.provider ||
         !std::ranges::all_of(facts.network_names(), is_built_in);
}

std::string plugin_words(const NcclFacts& facts) {
  if (!facts.plugins.empty()) return all_words(facts.plugins);
  if (!facts.plugin_versions.empty()) return all_words(facts.plugin_versions);
  return network_names(facts);
}

/// Shares over all channel ends, if lines do not tell the ranks.
std::optional<RanksOfBoth::Shares> gpudirect_shares(const NcclFacts& before,
                                                    const NcclFacts& after) {
  const RanksOfBoth both(before, after);
  if (both.any()) return both.gpudirect();
  const auto share_of = [](const NcclFacts& facts) -> std::optional<double> {
    int with = 0, all = 0;
    for (const auto& [name, host] : facts.hosts) {
      with += host.sends_with + host.receives_with;
      all += host.sends_with + host.receives_with + host.sends_without + host.receives_without;
    }
    if (all == 0) return std::nullopt;
    return static_cast<double>(with) / all;
  };
  const auto was = share_of(before), is = share_of(after);
  if (!was || !is) return std::nullopt;
  return RanksOfBoth::Shares{*was, *is};
}

/// Compares what NCCL says about its NICs at start.
bool add_gpudirect_of_nics(const NcclFacts& before, const NcclFacts& after,
                           std::vector<Finding>& findings) {
  // Compared by number, because hosts may differ and a log may end before the last NIC.
  const auto numbers = [](const NcclFacts& facts) {
    std::map<std::string, bool> enabled;
    for (const auto& [nic, said] : facts.gpudirect_of_nics) {
      bool& any = enabled[nic.substr(nic.rfind(' ') + 1)];
      any = any || said.first;
    }
    return enabled;
  };
  const std::map<std::string, bool> was = numbers(before), is = numbers(after);
  int old_count = 0, new_count = 0;
  for (const auto& [number, enabled] : was)
    if (const auto now = is.find(number); now != is.end()) {
      old_count += enabled ? 1 : 0;
      new_count += now->second ? 1 : 0;
    }
  const bool off = old_count > 0 && new_count == 0;
  const bool on = old_count == 0 && new_count > 0;
  if (off || on)
    findings.push_back(
        {.what = CauseClass::gpudirect_off,
         .says = off ? "NCCL enabled GPUDirect RDMA for its NICs and now enables it for none. "
                       "Load nvidia_peermem on every node, and check NCCL_NET_GDR_LEVEL"
                     : "NCCL enabled GPUDirect RDMA for no NIC before and enables it now",
         .place = after.gpudirect_of_nics.begin()->second.second,
         .effect = off ? FindingEffect::costs : FindingEffect::relieves});
  return off || on;
}

}  // namespace

void add_leaving_node(const NcclFacts& before, const NcclFacts& after,
                      std::vector<Finding>& findings) {
  // If the number of nodes is unknown, all ranks must be in the log.
  const auto inside = [](const NcclFacts& facts) {
    const LoggedCommunicator* job = facts.largest();
    return facts.one_node() ||
           (job != nullptr && !job->nodes && facts.networks.empty() && facts.rings_connected &&
            facts.ranks.size() >= static_cast<std::size_t>(job->ranks));
  };
  const auto over = [](const NcclFacts& facts) {
    return facts.networks.contains("Socket") && facts.networks.size() == 1
               ? std::string("TCP sockets")
               : network_names(facts);
  };
  if (inside(before) && !after.networks.empty() && !after.one_node())
    findings.push_back(
        {.what = CauseClass::transport_changed,
         .says = fmt::format("all channels stayed inside one node, but now some go between nodes "
                             "over {}. Measure all_reduce_perf on one node and on all of them",
                             over(after)),
         .place = after.network_place(),
         .effect = FindingEffect::costs});
  if (inside(after) && !before.networks.empty() && !before.one_node())
    findings.push_back(
        {.what = CauseClass::transport_changed,
         .says = fmt::format("channels went between nodes over {}, but now all stay inside one "
                             "node",
                             over(before)),
         .place = "NCCL's log",
         .effect = FindingEffect::relieves});
}

void add_nvlink_between_nodes(const NcclFacts& before, const NcclFacts& after,
                              std::vector<Finding>& findings) {
  const auto over_network = [](const NcclRankLines& rank) {
    return rank.complete && rank.nvlink_between_nodes == 0 &&
           rank.with_gpudirect + rank.without > 0;
  };
  bool lost = false, gained = false;
  for (const auto& [rank, is] : after.ranks) {
    const auto was = before.ranks.find(rank);
    if (was == before.ranks.end()) continue;
    lost = lost || (was->second.nvlink_between_nodes > 0 && over_network(is));
    gained = gained || (is.nvlink_between_nodes > 0 && over_network(was->second));
  }
  if (lost == gained) return;
  findings.push_back(
      {.what = CauseClass::transport_changed,
       .says = lost ? fmt::format("channels between nodes went over NVLink (MNNVL) and now go over "
                                  "{}. Check NCCL_MNNVL_ENABLE, IMEX and the fabric manager, and "
                                  "whether all nodes belong to one NVLink domain",
                                  network_names(after))
                    : fmt::format("channels between nodes went over {} and go over NVLink (MNNVL) "
                                  "now",
                                  network_names(before)),
       .place = lost ? after.network_place() : after.rings_place,
       .effect = lost ? FindingEffect::costs : FindingEffect::relieves});
}

void add_networks(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (uses_plugin(before) && !uses_plugin(after) && after.several_nodes())
    findings.push_back(
        {.what = CauseClass::plugin_missing,
         .says = fmt::format("the network plugin {} was loaded before but is not now; put its "
                             "folder on LD_LIBRARY_PATH on every node",
                             plugin_words(before)),
         .place = after.network_place(),
         .effect = FindingEffect::costs});
  const std::set<std::string> was = before.network_names();
  const std::set<std::string> is = after.network_names();
  // NCCL announces a network even for a job inside one node.
  if (was.empty() || is.empty() || was == is || before.one_node() || after.one_node()) return;
  if (before.networks.empty() != after.networks.empty() &&
      !std::ranges::none_of(was, [&](const std::string& name) { return is.contains(name); }))
    // One log announces only a part of what the other one used.
    return;
  const bool sockets_now = is.contains("Socket") && !was.contains("Socket");
  const bool sockets_before = was.contains("Socket") && !is.contains("Socket");
  if (sockets_now) {
    const auto channels = after.network_places.find("Socket");
    findings.push_back(
        {.what = CauseClass::socket_instead_of_ib,
         .says = fmt::format("channels between nodes went over {} and now go over TCP sockets, "
                             "which are several times slower. Find what hides the NICs from the "
                             "job (container, driver, NCCL_IB_DISABLE, NCCL_IB_HCA, a missing "
                             "plugin)",
                             network_names(before)),
         .place = channels != after.network_places.end() ? channels->second : after.network_place(),
         .effect = FindingEffect::costs});
  } else if (sockets_before) {
    findings.push_back(
        {.what = CauseClass::socket_instead_of_ib,
         .says = fmt::format("channels between nodes went over TCP sockets and go over {} now",
                             network_names(after)),
         .place = after.network_place(),
         .effect = FindingEffect::relieves});
  } else {
    findings.push_back(
        {.what = CauseClass::transport_changed,
         .says = fmt::format("channels between nodes went over {} and now go over {}; measure "
                             "all_reduce_perf with both",
                             network_names(before), network_names(after)),
         .place = after.network_place()});
  }
}

void add_interfaces(const NcclFacts& before, const NcclFacts& after,
                    std::vector<Finding>& findings) {
  const std::set<std::string> sockets = {"Socket"};
  if (before.network_names() != sockets || after.network_names() != sockets ||
      before.interfaces.empty() || after.interfaces.empty() || before.one_node() ||
      after.one_node())
    return;
  const std::string was = all_words(before.interfaces);
  const std::string is = all_words(after.interfaces);
  if (was != is)
    findings.push_back({.what = CauseClass::other_nic,
                        .says = fmt::format("TCP sockets went over {} and now go over {}. Check "
                                            "NCCL_SOCKET_IFNAME and the speed of both interfaces",
                                            was, is),
                        .place = after.interfaces.front().place});
}

void add_gpudirect(const NcclFacts& before, const NcclFacts& after,
                   std::vector<Finding>& findings) {
  if (add_gpudirect_of_nics(before, after, findings)) return;
  const auto share = gpudirect_shares(before, after);
  // If the network itself changed, it is the reason, not GPUDirect RDMA.
  if (!share || network_names(before) != network_names(after)) return;
  const bool fewer = share->after < share->before - 0.01;
  if (!fewer && share->after < share->before + 0.01) return;
  findings.push_back(
      {.what = CauseClass::gpudirect_off,
       .says = fmt::format("{:.0f} % of the ends of channels between nodes used GPUDirect RDMA and "
                           "{:.0f} % use it now{}",
                           100 * share->before, 100 * share->after,
                           fewer ? ". The rest passes through host memory. Load nvidia_peermem on "
                                   "every node, and check NCCL_NET_GDR_LEVEL and the chosen NIC"
                                 : ""),
       .place = after.network_place(),
       .effect = fewer ? FindingEffect::costs : FindingEffect::relieves});
}

void add_provider(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (!before.provider || !after.provider || before.provider->word == after.provider->word) return;
  const bool sockets = goes_over_tcp(*after.provider);
  const bool no_sockets = goes_over_tcp(*before.provider) && !sockets;
  findings.push_back(
      {.what =
           sockets || no_sockets ? CauseClass::socket_instead_of_ib : CauseClass::transport_changed,
       .says = fmt::format("libfabric's provider was {} and is {}. Check FI_PROVIDER, the devices "
                           "in the container and their driver",
                           before.provider->word, after.provider->word),
       .place = after.provider->place,
       .effect = sockets      ? FindingEffect::costs
                 : no_sockets ? FindingEffect::relieves
                              : FindingEffect::either});
}

}  // namespace ddpsim
