#include "nccl_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ddpsim/sim/values/versions.hpp"
#include "ranks_of_both.hpp"

namespace ddpsim {
namespace {

/// From 2.22 on, NCCL connects trees when it first chooses them; earlier versions always do.
constexpr NcclVersion kConnectsWhenChosen{2, 22, 0};

/// The size of a job: "16 ranks on 2 nodes".
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
  findings.push_back(
      {.what = CauseClass::ranks_changed,
       .says = fmt::format("the job had {} and has {}, so all-reduces and perhaps the batch "
                           "differ. Compare samples per second per GPU, and bus bandwidth",
                           job_words(*was), job_words(*is)),
       .place = is->place.empty() ? "NCCL's log" : is->place});
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
         .says = fmt::format("NCCL was {} and is {}. Its choices of algorithm, channels and NICs "
                             "may differ. Run the current job with the old version to see the "
                             "cost",
                             old_versions, new_versions),
         .place = after.versions.front().place});
  if (before.cuda_driver && after.cuda_driver &&
      before.cuda_driver->word != after.cuda_driver->word)
    findings.push_back(
        {.what = CauseClass::version_changed,
         .says = fmt::format("the driver's CUDA was {} and is {}: compare kernels of a single GPU",
                             before.cuda_driver->word, after.cuda_driver->word),
         .place = after.cuda_driver->place});
  const std::string old_plugin = all_words(before.plugin_versions);
  const std::string new_plugin = all_words(after.plugin_versions);
  // One of the two logs may print more versions than the other.
  const auto changed = [&](const NotedWord& now) {
    const std::string name = now.word.substr(0, now.word.find(' ') + 1);
    return std::ranges::any_of(before.plugin_versions,
                               [&](const NotedWord& was) { return was.word.starts_with(name); }) &&
           std::ranges::find(before.plugin_versions, now.word, &NotedWord::word) ==
               before.plugin_versions.end();
  };
  if (const auto now = std::ranges::find_if(after.plugin_versions, changed);
      now != after.plugin_versions.end())
    findings.push_back(
        {.what = CauseClass::version_changed,
         .says = fmt::format("the network plugin was {} and is {}; run the current job with the "
                             "old version to see the cost",
                             old_plugin, new_plugin),
         .place = now->place});
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

/// Only compares communicators with the same numbers of ranks and nodes; others differ anyway.
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
             "NCCL had {} channels and has {}: {}. Check NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, "
             "the version, the topology file and the state of NVLink",
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
         .says = gone ? fmt::format("NCCL had channels that reduce in {} and now has none. Check "
                                    "NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE, the fabric manager "
                                    "and the plugin",
                                    one.name)
                      : fmt::format("NCCL has channels that reduce in {} and had none", one.name),
         .place = is->channels_place,
         .effect = gone ? FindingEffect::costs : FindingEffect::relieves});
  }
}

bool reduces_in_switches(std::string_view algorithm) {
  return algorithm.starts_with("NVLS") || algorithm.starts_with("COLLNET");
}

/// Only for sizes that both logs name.
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
             fmt::format("NCCL chose {} for all-reduces of {}{} bytes and now chooses {}. Measure "
                         "all_reduce_perf at these sizes with NCCL_ALGO and NCCL_PROTO as before",
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
                 : "NCCL could choose trees before but has them switched off now, so rings carry "
                   "small all-reduces too. Check NCCL_TREE_THRESHOLD",
         .place = after.trees_enabled->second,
         .effect = after.trees_enabled->first ? FindingEffect::relieves : FindingEffect::costs});
  const bool told =
      is_at_least(before, kConnectsWhenChosen) && is_at_least(after, kConnectsWhenChosen);
  if (changed.empty() && told && before.trees_connected && after.rings_connected &&
      after.rings_followed && !after.trees_connected)
    findings.push_back(
        {.what = CauseClass::ring_where_tree,
         .says = "NCCL connected trees before and now connects only rings, so it chooses no tree. "
                 "Print its choices with NCCL_DEBUG_SUBSYS=TUNING and measure with NCCL_ALGO=Tree",
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
                           more ? "; check NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, ACS, IOMMU and which "
                                  "GPUs the job got"
                                : ""),
       .place = after.shared_memory_place.empty() ? "NCCL's log" : after.shared_memory_place,
       .effect = more ? FindingEffect::costs : FindingEffect::relieves});
}

}  // namespace

std::string all_words(const std::vector<NotedWord>& words) {
  std::set<std::string> each;
  for (const NotedWord& word : words) each.insert(word.word);
  return fmt::format("{}", fmt::join(each, ", "));
}

std::string network_names(const NcclFacts& facts) {
  return fmt::format("{}", fmt::join(facts.network_names(), ", "));
}

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
