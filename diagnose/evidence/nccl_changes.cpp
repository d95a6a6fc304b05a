#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Since 2.22 NCCL connects trees when it first chooses them; before, always.
constexpr NcclVersion kConnectsWhenChosen{2, 22, 0};

std::string all_words(const std::vector<NotedWord>& words) {
  std::set<std::string> each;
  for (const NotedWord& word : words) each.insert(word.word);
  return fmt::format("{}", fmt::join(each, ", "));
}

std::string network_names(const NcclFacts& facts) {
  return fmt::format("{}", fmt::join(facts.network_names(), ", "));
}

/// "16 ranks on 2 nodes".
std::string job_words(const LoggedCommunicator& job) {
  std::string words = fmt::format("{} rank{}", job.ranks, job.ranks == 1 ? "" : "s");
  if (job.nodes) words += fmt::format(" on {} node{}", *job.nodes, *job.nodes == 1 ? "" : "s");
  return words;
}

void add_ranks(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  const LoggedCommunicator* was = before.largest();
  const LoggedCommunicator* is = after.largest();
  if (was == nullptr || is == nullptr) return;
  const bool other_nodes = was->nodes && is->nodes && *was->nodes != *is->nodes;
  if (was->ranks == is->ranks && !other_nodes) return;
  findings.push_back({.what = CauseClass::ranks_changed,
                      .says = fmt::format(
                          "the job had {} and has {}: other all-reduces and perhaps another batch; "
                          "compare samples per second and GPU, and bus bandwidth",
                          job_words(*was), job_words(*is)),
                      .place = is->place.empty() ? "NCCL's log" : is->place});
}

/// Whether channels of a job leave its node at all.
void add_leaving_node(const NcclFacts& before, const NcclFacts& after,
                      std::vector<Finding>& findings) {
  const auto inside = [](const NcclFacts& facts) {  // where nodes are not told, all ranks are there
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
         .says = fmt::format("all channels stayed inside one node, and now some go between nodes "
                             "over {}: measure all_reduce_perf on one node and on all of them",
                             over(after)),
         .place = after.network_place(),
         .effect = FindingEffect::costs});
  if (inside(after) && !before.networks.empty() && !before.one_node())
    findings.push_back(
        {.what = CauseClass::transport_changed,
         .says = fmt::format("channels went between nodes over {}, and now all stay inside one "
                             "node",
                             over(before)),
         .place = "NCCL's log",
         .effect = FindingEffect::relieves});
}

/// Nodes that share NVLink's switches (MNNVL): of ranks that both logs have to their end.
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
       .says = lost
                   ? fmt::format("channels between nodes went over NVLink (MNNVL) and go over {} "
                                 "now: look at NCCL_MNNVL_ENABLE, IMEX and the fabric manager, and "
                                 "at whether all nodes are of one NVLink domain",
                                 network_names(after))
                   : fmt::format("channels between nodes went over {} and go over NVLink (MNNVL) "
                                 "now",
                                 network_names(before)),
       .place = lost ? after.network_place() : after.rings_place,
       .effect = lost ? FindingEffect::costs : FindingEffect::relieves});
}

bool is_at_least(const NcclFacts& facts, NcclVersion version) {
  if (facts.versions.empty()) return false;
  const auto known = parse_nccl_version(facts.versions.front().word);
  return known && *known >= version;
}

void add_versions(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  const std::string old_versions = all_words(before.versions);
  const std::string new_versions = all_words(after.versions);
  if (!before.versions.empty() && !after.versions.empty() && old_versions != new_versions)
    findings.push_back(
        {.what = CauseClass::version_changed,
         .says = fmt::format("NCCL was {} and is {}: its choices of algorithm, "
                             "channels and NICs may differ; run today's job with the "
                             "old one to see what it costs",
                             old_versions, new_versions),
         .place = after.versions.front().place});
  if (before.cuda_driver && after.cuda_driver &&
      before.cuda_driver->word != after.cuda_driver->word)
    findings.push_back(
        {.what = CauseClass::version_changed,
         .says = fmt::format("the driver's CUDA was {} and is {}: compare kernels of one GPU alone",
                             before.cuda_driver->word, after.cuda_driver->word),
         .place = after.cuda_driver->place});
  const std::string old_plugin = all_words(before.plugin_versions);
  const std::string new_plugin = all_words(after.plugin_versions);
  // One of the two may print more of them than the other.
  const auto changed = [&](const NotedWord& now) {
    const std::string name = now.word.substr(0, now.word.find(' ') + 1);
    return std::ranges::any_of(before.plugin_versions,
                               [&](const NotedWord& was) { return was.word.starts_with(name); }) &&
           std::ranges::find(before.plugin_versions, now.word, &NotedWord::word) ==
               before.plugin_versions.end();
  };
  if (const auto now = std::ranges::find_if(after.plugin_versions, changed);
      now != after.plugin_versions.end())
    findings.push_back({.what = CauseClass::version_changed,
                        .says = fmt::format(
                            "the network plugin was {} and is {}: run today's job with the old one "
                            "to see what it costs",
                            old_plugin, new_plugin),
                        .place = now->place});
}

/// NCCL's own networks; any other name is a plugin's, which is loaded then whatever else the log says.
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

void add_networks(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (uses_plugin(before) && !uses_plugin(after) && after.several_nodes())
    findings.push_back(
        {.what = CauseClass::plugin_missing,
         .says = fmt::format("the network plugin {} was loaded before and is not now: put its "
                             "folder on LD_LIBRARY_PATH on every node",
                             plugin_words(before)),
         .place = after.network_place(),
         .effect = FindingEffect::costs});
  const std::set<std::string> was = before.network_names();
  const std::set<std::string> is = after.network_names();
  // Of a job inside one node NCCL announces a network all the same.
  if (was.empty() || is.empty() || was == is || before.one_node() || after.one_node()) return;
  if (before.networks.empty() != after.networks.empty() &&
      !std::ranges::none_of(was, [&](const std::string& name) { return is.contains(name); }))
    return;  // what is announced beside what was used: a part of it
  const bool sockets_now = is.contains("Socket") && !was.contains("Socket");
  const bool sockets_before = was.contains("Socket") && !is.contains("Socket");
  if (sockets_now) {
    const auto channels = after.network_places.find("Socket");
    findings.push_back(
        {.what = CauseClass::socket_instead_of_ib,
         .says = fmt::format("channels between nodes went over {} and go over TCP sockets now, "
                             "several times slower: look for what hides the NICs from the job "
                             "(container, driver, NCCL_IB_DISABLE, NCCL_IB_HCA, a missing plugin)",
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
         .says = fmt::format("channels between nodes went over {} and go over {} now: "
                             "measure all_reduce_perf with both",
                             network_names(before), network_names(after)),
         .place = after.network_place()});
  }
}

/// Interfaces of sockets, where both sides send over them.
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
    findings.push_back(
        {.what = CauseClass::other_nic,
         .says = fmt::format("TCP sockets went over {} and go over {} now: look at "
                             "NCCL_SOCKET_IFNAME and at the speed of both interfaces",
                             was, is),
         .place = after.interfaces.front().place});
}

/// A log may be one rank's, and the other all ranks', and any may be cut off at either end. Ranks that both have to their
/// end are compared as they are; where a side has fewer channels, by those of both, since the others took their NICs
/// along. Of a rank that is cut off on one side nothing is known but where both hold the same channels of it.
class RanksOfBoth {
 public:
  RanksOfBoth(const NcclFacts& before, const NcclFacts& after) : before_(before), after_(after) {
    const LoggedCommunicator* was = before.largest();
    const LoggedCommunicator* is = after.largest();
    const bool other_channels = was != nullptr && is != nullptr && was->ranks == is->ranks &&
                                was->channels && is->channels && was->channels != is->channels;
    const std::map<int, EndCounts> ends = count_ends();
    for (const auto& [rank, lines] : before.ranks)
      if (const auto now = after.ranks.find(rank); now != after.ranks.end()) {
        const bool to_its_end =
            lines.complete && now->second.complete && !before.torn && !after.torn;
        if (to_its_end) {
          whole_.emplace_back(&lines, &now->second);
          if (other_channels) fewer_channels_.insert(rank);
          continue;
        }
        partly_.insert(rank);
        const auto of_rank = ends.find(rank);
        if (of_rank == ends.end()) continue;
        const EndCounts& count = of_rank->second;
        if (count.before == count.both && count.after == count.both) same_ends_.insert(rank);
        const auto alike = [](const NcclRankLines& side) {
          return side.with_gpudirect == 0 || side.without == 0;
        };
        if (alike(lines) && alike(now->second)) alike_ends_.insert(rank);
      }
  }

  bool any() const { return !whole_.empty() || !partly_.empty(); }

  struct Nics {
    std::set<std::pair<std::string, int>> before, after;
  };
  Nics nics() const {
    Nics all;
    for (const auto& [was, is] : whole_) {
      if (!fewer_channels_.empty()) break;  // by those of both, below
      all.before.insert(was->nics.begin(), was->nics.end());
      all.after.insert(is->nics.begin(), is->nics.end());
    }
    const auto take = [](const std::string& host, std::uint64_t bits, auto& into) {
      for (int nic = 0; nic < 64; ++nic)
        if ((bits >> nic & 1) != 0) into.insert({host, nic});
    };
    for_common_ends([&](int rank, const NcclNetEnd& was, const NcclNetEnd& is) {
      if (!same_ends_.contains(rank) && !fewer_channels_.contains(rank)) return;
      // Several communicators may have such a channel, of which a cut log lacks some.
      const std::uint64_t common = was.nics & is.nics;
      const bool same = common == was.nics || common == is.nics;
      take(was.host, same ? common : was.nics, all.before);
      take(is.host, same ? common : is.nics, all.after);
    });
    return all;
  }

  /// Of counts before and now, together: the share of the first in both; absent where a side has none.
  struct Shares {
    double before = 0, after = 0;
  };
  std::optional<Shares> gpudirect() const {
    Counts counts;
    for (const auto& [was, is] : whole_)
      counts.add({was->with_gpudirect, was->without}, {is->with_gpudirect, is->without});
    for_common_ends([&](int rank, const NcclNetEnd& was, const NcclNetEnd& is) {
      if (same_ends_.contains(rank) || alike_ends_.contains(rank))
        counts.add_unmixed({was.with_gpudirect, was.without}, {is.with_gpudirect, is.without});
    });
    return counts.shares();
  }
  std::optional<Shares> shared_memory() const {
    Counts counts;
    for (const auto& [was, is] : whole_)
      counts.add({was->shared_memory, was->peer_to_peer}, {is->shared_memory, is->peer_to_peer});
    for (const auto& [pair, was] : before_.local_pairs) {
      const auto is = after_.local_pairs.find(pair);
      if (is != after_.local_pairs.end() && partly_.contains(pair.first))
        counts.add_unmixed({was.second, was.first}, {is->second.second, is->second.first});
    }
    return counts.shares();
  }

 private:
  using Count = std::pair<int, int>;
  struct Counts {
    double old_first = 0, old_all = 0, new_first = 0, new_all = 0;

    void add(const Count& was, const Count& is) {
      old_first += was.first;
      old_all += was.first + was.second;
      new_first += is.first;
      new_all += is.first + is.second;
    }
    /// One way or the other on each side, so that none counts for more by being printed more often.
    void add_unmixed(const Count& was, const Count& is) {
      const auto unmixed = [](const Count& count) {
        return (count.first > 0) != (count.second > 0);
      };
      if (unmixed(was) && unmixed(is))
        add({was.first > 0, was.second > 0}, {is.first > 0, is.second > 0});
    }
    std::optional<Shares> shares() const {
      if (old_all == 0 || new_all == 0) return std::nullopt;
      return Shares{old_first / old_all, new_first / new_all};
    }
  };

  struct EndCounts {
    int before = 0, after = 0, both = 0;
  };
  std::map<int, EndCounts> count_ends() const {
    std::map<int, EndCounts> counts;
    for (const bool sends : {true, false}) {
      const auto& was = sends ? before_.sends : before_.receives;
      const auto& is = sends ? after_.sends : after_.receives;
      const auto rank_of = [&](const auto& end) {
        return sends ? end.first.second.first : end.first.second.second;
      };
      for (const auto& end : was) {
        EndCounts& count = counts[rank_of(end)];
        ++count.before;
        if (is.contains(end.first)) ++count.both;
      }
      for (const auto& end : is) ++counts[rank_of(end)].after;
    }
    return counts;
  }

  template <typename Take>
  void for_common_ends(const Take& take) const {
    for (const bool sends : {true, false}) {
      const auto& is_ends = sends ? after_.sends : after_.receives;
      for (const auto& [key, was] : sends ? before_.sends : before_.receives) {
        const int rank = sends ? key.second.first : key.second.second;
        if (!partly_.contains(rank) && !fewer_channels_.contains(rank)) continue;
        if (const auto is = is_ends.find(key); is != is_ends.end()) take(rank, was, is->second);
      }
    }
  }

  const NcclFacts& before_;
  const NcclFacts& after_;
  std::vector<std::pair<const NcclRankLines*, const NcclRankLines*>> whole_;
  std::set<int> fewer_channels_;  ///< the whole ones, where a side has other channels
  std::set<int> partly_;          ///< cut off on a side: of these …
  std::set<int> same_ends_;       ///< … those of which both hold the same channels
  std::set<int>
      alike_ends_;  ///< … those that use GPUDirect RDMA everywhere, or nowhere, on either side
};
using Shares = RanksOfBoth::Shares;

/// Of all ends, where ranks do not tell: of lone lines.
std::optional<Shares> gpudirect_shares(const NcclFacts& before, const NcclFacts& after) {
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
  return Shares{*was, *is};
}

/// What NCCL says of its NICs as it begins.
bool add_gpudirect_of_nics(const NcclFacts& before, const NcclFacts& after,
                           std::vector<Finding>& findings) {
  // By number: hosts may be others, and a log may end before the last NIC.
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
         .says = off ? "NCCL enabled GPUDirect RDMA for its NICs and enables it for none now: load "
                       "nvidia_peermem on every node, and look at NCCL_NET_GDR_LEVEL"
                     : "NCCL enabled GPUDirect RDMA for no NIC and enables it now",
         .place = after.gpudirect_of_nics.begin()->second.second,
         .effect = off ? FindingEffect::costs : FindingEffect::relieves});
  return off || on;
}

void add_gpudirect(const NcclFacts& before, const NcclFacts& after,
                   std::vector<Finding>& findings) {
  if (add_gpudirect_of_nics(before, after, findings)) return;
  const auto share = gpudirect_shares(before, after);
  // Another network has its own reasons.
  if (!share || network_names(before) != network_names(after)) return;
  const bool fewer = share->after < share->before - 0.01;
  if (!fewer && share->after < share->before + 0.01) return;
  findings.push_back(
      {.what = CauseClass::gpudirect_off,
       .says = fmt::format("{:.0f} % of the ends of channels between nodes used GPUDirect RDMA and "
                           "{:.0f} % use it now{}",
                           100 * share->before, 100 * share->after,
                           fewer ? ": data of the rest passes through the host's memory; load "
                                   "nvidia_peermem on every node, and look at "
                                   "NCCL_NET_GDR_LEVEL and at which NIC is taken"
                                 : ""),
       .place = after.network_place(),
       .effect = fewer ? FindingEffect::costs : FindingEffect::relieves});
}

/// "mlx5_0:1" of "mlx5_0:1/IB/SHARP": what runs over it is no other NIC.
std::string port_of(const std::string& listed) {
  return listed.substr(0, listed.find('/'));
}

using Ports = std::set<std::pair<std::string, std::string>>;  ///< host and name

/// Ports of the NICs that channels name by index. Absent where the log lists none: a name is no index.
struct NamedPorts {
  std::optional<Ports> ports;
  bool beyond_list = false;  ///< a device that NCCL made of several and does not say of which
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

/// As many indices behind all of the other side's as NICs merged in pairs have, and no list that says what they are.
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
           "channels of the same ranks used {} NIC{} ({}), now {} ({}){}: look at NCCL_IB_HCA, "
           "NCCL_CROSS_NIC, the NICs' ports and the topology file",
           was, was == 1 ? "" : "s", fmt::join(old_names, ", "), is, fmt::join(new_names, ", "),
           fewer ? ", and bandwidth goes with their number" : ""),
       .place = after.network_places.empty() ? "NCCL's log" : after.network_places.begin()->second,
       .effect = fewer  ? FindingEffect::costs
                 : more ? FindingEffect::relieves
                        : FindingEffect::either});
}

/// NICs that the channels of ranks use which both sides have, each by its host; of one network.
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

/// Whether channels leave alone what `more` lists and `fewer` does not, though they use all the rest.
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

/// What NCCL, or libfabric, found on a node, whatever channels use.
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
           "{} NICs were found on a node, and {} now{}", most(before), most(after),
           fewer ? ": look at NCCL_IB_HCA, the NICs' ports and what the container shows of them"
                 : ""),
       .place = after.provider_nics ? after.provider->place : "NCCL's log",
       .effect = fewer ? FindingEffect::costs : FindingEffect::relieves});
}

/// What each NIC's line says of it: InfiniBand or RoCE, and its speed.
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
         .says = fmt::format("the NIC {} was on {} and is on {}: measure all_reduce_perf, and over "
                             "RoCE look at NCCL_IB_GID_INDEX, NCCL_IB_TC and the switches' flow "
                             "control",
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
         .says = fmt::format("the port of NIC {} ran at {} Gbit/s and runs at {} now{}", *port,
                             before.nic_gbps.at(*port).first, speed,
                             port == slower ? ": look at cable, switch port and firmware" : ""),
         .place = place,
         .effect = port == slower ? FindingEffect::costs : FindingEffect::relieves});
  }
}

/// Libfabric's TCP where it had a network's own provider.
void add_provider(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (!before.provider || !after.provider || before.provider->word == after.provider->word) return;
  const bool sockets = goes_over_tcp(*after.provider);
  const bool no_sockets = goes_over_tcp(*before.provider) && !sockets;
  findings.push_back(
      {.what =
           sockets || no_sockets ? CauseClass::socket_instead_of_ib : CauseClass::transport_changed,
       .says = fmt::format("libfabric's provider was {} and is {}: look at FI_PROVIDER, the "
                           "devices in the container and their driver",
                           before.provider->word, after.provider->word),
       .place = after.provider->place,
       .effect = sockets      ? FindingEffect::costs
                 : no_sockets ? FindingEffect::relieves
                              : FindingEffect::either});
}

void add_pxn(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (!before.pxn || !after.pxn || *before.pxn == *after.pxn) return;
  findings.push_back(
      {.what = CauseClass::pxn_changed,
       .says = fmt::format("GPUs {} NICs of other GPUs over NVLink (PXN): measure with "
                           "NCCL_PXN_DISABLE={}",
                           *after.pxn ? "now reach" : "no longer reach", *after.pxn ? 1 : 0),
       .place = after.rings_place});
}

/// Only of communicators of as many ranks and nodes: others have others by right.
void add_channels(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  const LoggedCommunicator* was = before.largest();
  const LoggedCommunicator* is = after.largest();
  if (was == nullptr || is == nullptr || was->ranks != is->ranks ||
      (was->nodes && is->nodes && was->nodes != is->nodes))
    return;
  if (was->channels && is->channels && *was->channels != *is->channels) {
    const bool fewer = *is->channels < *was->channels;
    findings.push_back(
        {.what = fewer ? CauseClass::fewer_channels : CauseClass::more_channels,
         .says = fmt::format(
             "NCCL had {} channels and has {}: {}; look at NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, "
             "the version, the topology file and NVLink's state",
             *was->channels, *is->channels,
             fewer ? "fewer multiprocessors and links carry an all-reduce"
                   : "an all-reduce takes more multiprocessors from compute"),
         .place = is->channels_place});
  }
  const auto lost = [](const std::optional<int>& old_count, const std::optional<int>& new_count) {
    return old_count.value_or(0) > 0 && new_count == 0;
  };
  struct InSwitch {
    const char* name;
    std::optional<int> LoggedCommunicator::*channels;
  };
  for (const InSwitch& one :
       {InSwitch{"NVLink's switches (NVLS)", &LoggedCommunicator::nvls_channels},
        InSwitch{"the network's switches (SHARP)", &LoggedCommunicator::collnet_channels}}) {
    const bool gone = lost(was->*one.channels, is->*one.channels);
    const bool come = lost(is->*one.channels, was->*one.channels);
    if (!gone && !come) continue;
    findings.push_back(
        {.what = CauseClass::in_switch_off,
         .says = gone ? fmt::format("NCCL had channels that reduce in {} and has none now: "
                                    "look at NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE, the "
                                    "fabric manager and the plugin",
                                    one.name)
                      : fmt::format("NCCL has channels that reduce in {} and had none", one.name),
         .place = is->channels_place,
         .effect = gone ? FindingEffect::costs : FindingEffect::relieves});
  }
}

bool reduces_in_switches(std::string_view algorithm) {
  return algorithm.starts_with("NVLS") || algorithm.starts_with("COLLNET");
}

/// Of sizes that both logs name.
void add_choices(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  struct Changed {
    std::int64_t least = 0, most = 0;
    std::string place;
  };
  std::map<std::pair<std::string, std::string>, Changed> changed;
  for (const auto& [size, now] : after.choices) {
    const auto at = before.choices.find(size);
    if (at == before.choices.end()) continue;
    const auto shown = [](const NcclChoice& choice) {
      return choice.algorithm + " " + choice.protocol;
    };
    if (shown(at->second) == shown(now)) continue;
    const auto [entry, first] = changed.try_emplace(std::pair(shown(at->second), shown(now)));
    if (first) entry->second = {size, size, now.place};
    entry->second.most = size;
  }
  for (const auto& [names, sizes] : changed) {
    const auto& [was, is] = names;
    const CauseClass what =
        was.starts_with("TREE") && is.starts_with("RING")      ? CauseClass::ring_where_tree
        : reduces_in_switches(was) && !reduces_in_switches(is) ? CauseClass::in_switch_off
                                                               : CauseClass::other_algorithm;
    findings.push_back(
        {.what = what,
         .says =
             fmt::format("NCCL chose {} for all-reduces of {}{} bytes and chooses {} now: measure "
                         "all_reduce_perf of these sizes with NCCL_ALGO and NCCL_PROTO as before",
                         was, sizes.least,
                         sizes.most == sizes.least ? "" : fmt::format(" to {}", sizes.most), is),
         .place = sizes.place});
  }
  if (before.trees_enabled && after.trees_enabled &&
      before.trees_enabled->first != after.trees_enabled->first)
    findings.push_back(
        {.what = CauseClass::ring_where_tree,
         .says =
             after.trees_enabled->first
                 ? "NCCL had trees switched off and may choose them now"
                 : "NCCL could choose trees and has them switched off now, so rings carry small "
                   "all-reduces, too: look at NCCL_TREE_THRESHOLD",
         .place = after.trees_enabled->second,
         .effect = after.trees_enabled->first ? FindingEffect::relieves : FindingEffect::costs});
  const bool told =
      is_at_least(before, kConnectsWhenChosen) && is_at_least(after, kConnectsWhenChosen);
  if (changed.empty() && told && before.trees_connected && after.rings_connected &&
      after.rings_followed && !after.trees_connected)
    findings.push_back(
        {.what = CauseClass::ring_where_tree,
         .says = "NCCL connected trees before and connects rings alone now, so it chooses no tree: "
                 "print its choices with NCCL_DEBUG_SUBSYS=TUNING and measure with NCCL_ALGO=Tree",
         .place = after.rings_place});
}

void add_local_transports(const NcclFacts& before, const NcclFacts& after,
                          std::vector<Finding>& findings) {
  const auto share = RanksOfBoth(before, after).shared_memory();
  if (!share || std::max(share->after - share->before, share->before - share->after) < 0.01) return;
  const bool more = share->after > share->before;
  findings.push_back(
      {.what = CauseClass::peer_to_peer_off,
       .says = fmt::format("{:.0f} % of the channels inside nodes went through the host's memory, "
                           "now {:.0f} %{}",
                           100 * share->before, 100 * share->after,
                           more ? ": look at NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, ACS, IOMMU and at "
                                  "which GPUs the job got"
                                : ""),
       .place = after.shared_memory_place.empty() ? "NCCL's log" : after.shared_memory_place,
       .effect = more ? FindingEffect::costs : FindingEffect::relieves});
}

}  // namespace

std::vector<Finding> nccl_changes(const NcclFacts& before, const NcclFacts& after) {
  std::vector<Finding> findings;
  add_versions(before, after, findings);
  add_ranks(before, after, findings);
  add_leaving_node(before, after, findings);
  add_nvlink_between_nodes(before, after, findings);
  add_networks(before, after, findings);
  add_interfaces(before, after, findings);
  add_gpudirect(before, after, findings);
  add_nics(before, after, findings);
  add_provider(before, after, findings);
  add_listed_nics(before, after, findings);
  add_nic_links(before, after, findings);
  add_pxn(before, after, findings);
  add_channels(before, after, findings);
  add_choices(before, after, findings);
  add_local_transports(before, after, findings);
  return findings;
}

}  // namespace ddpsim
