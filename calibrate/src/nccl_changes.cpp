#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ddpsim/calibrate/nccl_facts.hpp"
#include "ddpsim/sim/versions.hpp"
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
  std::vector<std::string> names;
  for (const auto& [name, ends] : facts.networks) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
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
        {.what = FindingClass::version_changed,
         .says = fmt::format("NCCL was {} and is {}: its choices of algorithm, "
                             "channels and NICs may differ; run today's job with the "
                             "old one to see what it costs",
                             old_versions, new_versions),
         .place = after.versions.front().place});
  if (before.cuda_driver && after.cuda_driver &&
      before.cuda_driver->word != after.cuda_driver->word)
    findings.push_back(
        {.what = FindingClass::version_changed,
         .says = fmt::format("the driver's CUDA was {} and is {}: compare kernels of one GPU alone",
                             before.cuda_driver->word, after.cuda_driver->word),
         .place = after.cuda_driver->place});
}

void add_networks(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  const std::string lost = all_words(before.plugins);
  if (!before.plugins.empty() && after.plugins.empty() && after.lines > 0 && after.several_nodes())
    findings.push_back(
        {.what = FindingClass::plugin_missing,
         .says = fmt::format("the network plugin {} was loaded before and is not now: put its "
                             "folder on LD_LIBRARY_PATH on every node",
                             lost),
         .place =
             after.network_places.empty() ? "NCCL's log" : after.network_places.begin()->second});
  if (before.networks.empty() || after.networks.empty()) return;
  const bool sockets_now = after.networks.contains("Socket");
  if (sockets_now && !before.networks.contains("Socket")) {
    findings.push_back(
        {.what = FindingClass::socket_instead_of_ib,
         .says = fmt::format("channels between nodes went over {} and go over TCP sockets now, "
                             "several times slower: look for what hides the NICs from the job "
                             "(container, driver, NCCL_IB_DISABLE, NCCL_IB_HCA, a missing plugin)",
                             network_names(before)),
         .place = after.network_places.at("Socket")});
  } else if (network_names(before) != network_names(after)) {
    findings.push_back(
        {.what = FindingClass::transport_changed,
         .says = fmt::format("channels between nodes went over {} and go over {} now: "
                             "measure all_reduce_perf with both",
                             network_names(before), network_names(after)),
         .place = after.network_places.begin()->second});
  }
}

/// A log may be one rank's, and the other all ranks': of those that both have.
std::vector<std::pair<NcclRankLines, NcclRankLines>> ranks_of_both(const NcclFacts& before,
                                                                   const NcclFacts& after) {
  std::vector<std::pair<NcclRankLines, NcclRankLines>> both;
  for (const auto& [rank, lines] : before.ranks)
    if (const auto now = after.ranks.find(rank); now != after.ranks.end())
      both.emplace_back(lines, now->second);
  return both;
}

/// Of counts before and now, together: the share of the first in both; absent where a side has none.
struct Shares {
  double before = 0, after = 0;
};
std::optional<Shares> shares(const NcclFacts& before, const NcclFacts& after,
                             int NcclRankLines::*first, int NcclRankLines::*second) {
  double old_first = 0, old_all = 0, new_first = 0, new_all = 0;
  for (const auto& [was, is] : ranks_of_both(before, after)) {
    old_first += was.*first;
    old_all += was.*first + was.*second;
    new_first += is.*first;
    new_all += is.*first + is.*second;
  }
  if (old_all == 0 || new_all == 0) return std::nullopt;
  return Shares{old_first / old_all, new_first / new_all};
}

void add_gpudirect(const NcclFacts& before, const NcclFacts& after,
                   std::vector<Finding>& findings) {
  const auto share = shares(before, after, &NcclRankLines::with_gpudirect, &NcclRankLines::without);
  // Another network has its own reasons.
  if (!share || share->before <= 0 || share->after > share->before - 0.01 ||
      network_names(before) != network_names(after))
    return;
  findings.push_back(
      {.what = FindingClass::gpudirect_off,
       .says =
           fmt::format("{:.0f} % of the ends of channels between nodes used GPUDirect RDMA, now "
                       "{:.0f} %: the others pass through the host's memory; load nvidia_peermem "
                       "on every node, and look at NCCL_NET_GDR_LEVEL and at which NIC is taken",
                       100 * share->before, 100 * share->after),
       .place = after.network_places.begin()->second,
       .effect = FindingEffect::costs});
}

/// "mlx5_0:1" of "mlx5_0:1/IB/SHARP": what runs over it is no other NIC.
std::string nic_name(const NcclFacts& facts, const std::pair<std::string, int>& nic) {
  const auto listed = facts.nics.find(nic.first);
  const auto index = static_cast<std::size_t>(nic.second);
  if (listed == facts.nics.end() || index >= listed->second.size())
    return fmt::format("NIC {}", index);
  return listed->second[index].substr(0, listed->second[index].find('/'));
}

/// NICs that the channels of ranks use which both sides have, each by its host; of one network.
void add_nics(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (network_names(before) != network_names(after) || before.merged_nics || after.merged_nics)
    return;
  std::set<std::pair<std::string, int>> old_use, new_use;
  for (const auto& [was, is] : ranks_of_both(before, after)) {
    old_use.insert(was.nics.begin(), was.nics.end());
    new_use.insert(is.nics.begin(), is.nics.end());
  }
  if (old_use.empty() || new_use.empty()) return;
  const auto names = [](const NcclFacts& facts, const auto& use) {
    std::set<std::string> all;
    for (const auto& nic : use) all.insert(nic_name(facts, nic));
    return all;
  };
  const std::set<std::string> old_names = names(before, old_use);
  const std::set<std::string> new_names = names(after, new_use);
  if (old_names == new_names && old_use.size() == new_use.size()) return;
  const bool fewer = new_use.size() < old_use.size();
  const bool more = new_use.size() > old_use.size();
  findings.push_back(
      {.what = fewer ? FindingClass::fewer_nics : FindingClass::other_nic,
       .says = fmt::format(
           "channels of the same ranks used {} NIC{} ({}), now {} ({}){}: look at NCCL_IB_HCA, "
           "NCCL_CROSS_NIC, the NICs' ports and the topology file",
           old_use.size(), old_use.size() == 1 ? "" : "s", fmt::join(old_names, ", "),
           new_use.size(), fmt::join(new_names, ", "),
           fewer ? ", and bandwidth goes with their number" : ""),
       .place = after.network_places.empty() ? "NCCL's log" : after.network_places.begin()->second,
       .effect = fewer  ? FindingEffect::costs
                 : more ? FindingEffect::relieves
                        : FindingEffect::either});
}

/// What NCCL, or libfabric, found on a node, whatever channels use.
void add_listed_nics(const NcclFacts& before, const NcclFacts& after,
                     std::vector<Finding>& findings) {
  const auto most = [](const NcclFacts& facts) {
    std::size_t count = static_cast<std::size_t>(std::max(facts.provider_nics.value_or(0), 0));
    for (const auto& [host, nics] : facts.nics) count = std::max(count, nics.size());
    return count;
  };
  const bool said = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.what == FindingClass::fewer_nics ||
           finding.what == FindingClass::socket_instead_of_ib;
  });
  if (said || before.merged_nics || after.merged_nics || most(after) == 0 ||
      most(after) >= most(before))
    return;
  findings.push_back(
      {.what = FindingClass::fewer_nics,
       .says = fmt::format(
           "{} NICs were found on a node, and {} now: look at NCCL_IB_HCA, the NICs' ports and "
           "what the container shows of them",
           most(before), most(after)),
       .place = after.provider_nics ? after.provider->place : "NCCL's log",
       .effect = FindingEffect::costs});
}

/// Libfabric's TCP where it had a network's own provider.
void add_provider(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (!before.provider || !after.provider || before.provider->word == after.provider->word) return;
  const bool sockets = goes_over_tcp(*after.provider);
  findings.push_back(
      {.what = sockets ? FindingClass::socket_instead_of_ib : FindingClass::transport_changed,
       .says = fmt::format("libfabric's provider was {} and is {}: look at FI_PROVIDER, the "
                           "devices in the container and their driver",
                           before.provider->word, after.provider->word),
       .place = after.provider->place,
       .effect = sockets ? FindingEffect::costs : FindingEffect::either});
}

void add_pxn(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  if (!before.pxn || !after.pxn || *before.pxn == *after.pxn) return;
  findings.push_back(
      {.what = FindingClass::pxn_changed,
       .says = fmt::format("GPUs {} NICs of other GPUs over NVLink (PXN): measure with "
                           "NCCL_PXN_DISABLE={}",
                           *after.pxn ? "now reach" : "no longer reach", *after.pxn ? 1 : 0),
       .place = after.rings_place});
}

/// Only of communicators of as many ranks and nodes: others have others by right.
void add_channels(const NcclFacts& before, const NcclFacts& after, std::vector<Finding>& findings) {
  const NcclCommunicator* was = before.largest();
  const NcclCommunicator* is = after.largest();
  if (was == nullptr || is == nullptr || was->ranks != is->ranks ||
      (was->nodes && is->nodes && was->nodes != is->nodes))
    return;
  if (was->channels && is->channels && *was->channels != *is->channels) {
    const bool fewer = *is->channels < *was->channels;
    findings.push_back(
        {.what = fewer ? FindingClass::fewer_channels : FindingClass::more_channels,
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
  for (const auto& [name, gone] :
       {std::pair("NVLink's switches (NVLS)", lost(was->nvls_channels, is->nvls_channels)),
        std::pair("the network's switches (SHARP)",
                  lost(was->collnet_channels, is->collnet_channels))})
    if (gone)
      findings.push_back(
          {.what = FindingClass::in_switch_off,
           .says = fmt::format("NCCL had channels that reduce in {} and has none now: "
                               "look at NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE, the "
                               "fabric manager and the plugin",
                               name),
           .place = is->channels_place});
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
    const FindingClass what =
        was.starts_with("TREE") && is.starts_with("RING")      ? FindingClass::ring_where_tree
        : reduces_in_switches(was) && !reduces_in_switches(is) ? FindingClass::in_switch_off
                                                               : FindingClass::other_algorithm;
    findings.push_back(
        {.what = what,
         .says =
             fmt::format("NCCL chose {} for all-reduces of {}{} bytes and chooses {} now: measure "
                         "all_reduce_perf of these sizes with NCCL_ALGO and NCCL_PROTO as before",
                         was, sizes.least,
                         sizes.most == sizes.least ? "" : fmt::format(" to {}", sizes.most), is),
         .place = sizes.place});
  }
  const bool told =
      is_at_least(before, kConnectsWhenChosen) && is_at_least(after, kConnectsWhenChosen);
  if (changed.empty() && told && before.trees_connected && after.rings_connected &&
      !after.trees_connected)
    findings.push_back(
        {.what = FindingClass::ring_where_tree,
         .says = "NCCL connected trees before and connects rings alone now, so it chooses no tree: "
                 "print its choices with NCCL_DEBUG_SUBSYS=TUNING and measure with NCCL_ALGO=Tree",
         .place = after.rings_place});
}

void add_local_transports(const NcclFacts& before, const NcclFacts& after,
                          std::vector<Finding>& findings) {
  const auto share =
      shares(before, after, &NcclRankLines::shared_memory, &NcclRankLines::peer_to_peer);
  if (!share || share->after < share->before + 0.01) return;
  findings.push_back(
      {.what = FindingClass::peer_to_peer_off,
       .says =
           fmt::format("{:.0f} % of the channels inside nodes went through the host's memory, "
                       "now {:.0f} %: look at NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, ACS, IOMMU and at "
                       "which GPUs the job got",
                       100 * share->before, 100 * share->after),
       .place = after.shared_memory_place,
       .effect = FindingEffect::costs});
}

}  // namespace

std::vector<Finding> nccl_changes(const NcclFacts& before, const NcclFacts& after) {
  std::vector<Finding> findings;
  add_versions(before, after, findings);
  add_networks(before, after, findings);
  add_gpudirect(before, after, findings);
  add_nics(before, after, findings);
  add_provider(before, after, findings);
  add_listed_nics(before, after, findings);
  add_pxn(before, after, findings);
  add_channels(before, after, findings);
  add_choices(before, after, findings);
  add_local_transports(before, after, findings);
  return findings;
}

}  // namespace ddpsim
