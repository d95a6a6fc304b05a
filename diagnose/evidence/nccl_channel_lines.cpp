// Lines about channels: which two ranks they connect, and over which network or transport of the
// node.
#include <cstdint>
#include <utility>

#include "ddpsim/formats/log_words.hpp"
#include "evidence_words.hpp"
#include "nccl_lines.hpp"

namespace ddpsim {
namespace {

/// The rank in "8[7000]" or "8".
std::optional<int> rank_of(std::string_view word) {
  const auto rank = leading_number<int>(word);
  if (!rank || *rank < 0 || *rank >= kMostNamedRanks) return std::nullopt;
  return rank;
}

NcclRankLines* rank_lines(int rank, NcclFacts& facts) {
  if (facts.ranks.size() >= kMostThreads && !facts.ranks.contains(rank)) return nullptr;
  return &facts.ranks[rank];
}

struct Hop {
  int channel = 0, from = 0, to = 0;
  bool receives = false;
};

void take_net_end(const Hop& hop, std::string_view path, const NcclLineHead& head,
                  const std::string& place, NcclFacts& facts) {
  const bool gpudirect = path.find("/GDRDMA") != std::string_view::npos;
  const std::size_t slash = path.find('/');
  std::string network = legible(path.substr(0, slash), 60);
  auto nic =
      slash == std::string_view::npos ? std::nullopt : leading_number<int>(path.substr(slash + 1));
  if (nic && (*nic < 0 || *nic >= 64)) nic.reset();
  if (NcclRankLines* rank = rank_lines(hop.receives ? hop.to : hop.from, facts)) {
    ++(gpudirect ? rank->with_gpudirect : rank->without);
    if (nic && rank->nics.size() < kMostNics) rank->nics.insert({head.host, *nic});
  }
  if (facts.networks.size() < 16 || facts.networks.contains(network)) {
    ++facts.networks[network];
    facts.network_places.try_emplace(std::move(network), place);
  }
  if (facts.hosts.size() < kMostHosts || facts.hosts.contains(head.host)) {
    NcclHostNet& host = facts.hosts[head.host];
    ++(hop.receives ? (gpudirect ? host.receives_with : host.receives_without)
                    : (gpudirect ? host.sends_with : host.sends_without));
  }
  auto& ends = hop.receives ? facts.receives : facts.sends;
  const std::pair key(hop.channel, std::pair(hop.from, hop.to));
  if (ends.size() >= kMostEnds && !ends.contains(key)) return;
  const auto [end, first] = ends.try_emplace(key);
  if (first || (!gpudirect && end->second.without == 0)) {
    end->second.host = head.host;
    end->second.place = place;
  }
  ++(gpudirect ? end->second.with_gpudirect : end->second.without);
  if (nic) end->second.nics |= std::uint64_t{1} << *nic;
}

void count_pair(const Hop& hop, bool peer_to_peer, NcclFacts& facts) {
  const std::pair key(hop.from, hop.to);
  if (facts.local_pairs.size() >= kMostEnds && !facts.local_pairs.contains(key)) return;
  auto& [direct, through_host] = facts.local_pairs[key];
  ++(peer_to_peer ? direct : through_host);
}

}  // namespace

std::optional<int> take_channel_line(std::string_view said, const NcclLineHead& head,
                                     const std::string& place, NcclFacts& facts) {
  const std::size_t via = said.find(" via ");
  const std::size_t arrow = said.find(" -> ");
  if (via == std::string_view::npos || arrow == std::string_view::npos || arrow > via)
    return std::nullopt;
  const Words words = words_of(said.substr(0, via));
  const auto at = find_words(words, {"->"});
  if (!at || *at < 3 || *at + 1 >= words.size() || words[*at - 2] != ":") return std::nullopt;
  const auto channel = leading_number<int>(words[*at - 3]);
  const auto from = rank_of(words[*at - 1]);
  const auto to = rank_of(words[*at + 1]);
  if (!channel || *channel < 0 || *channel > 1024 || !from || !to) return std::nullopt;
  const std::string_view path = trimmed(said.substr(via + 5));
  if (path.starts_with("NET/")) {
    const std::string_view end = *at + 2 < words.size() ? words[*at + 2] : "";
    if (end != "[send]" && end != "[receive]") return std::nullopt;
    const bool receives = end == "[receive]";
    take_net_end({*channel, *from, *to, receives}, path.substr(4), head, place, facts);
    return receives ? to : from;
  }
  if (path.starts_with("P2P")) {
    ++facts.peer_to_peer;
    count_pair({*channel, *from, *to}, true, facts);
    if (NcclRankLines* rank = rank_lines(*from, facts)) {
      ++rank->peer_to_peer;
      if (path.starts_with("P2P/MNNVL")) ++rank->nvlink_between_nodes;
    }
  } else if (path.starts_with("SHM") || path.starts_with("direct shared memory")) {
    if (++facts.shared_memory == 1) facts.shared_memory_place = place;
    count_pair({*channel, *from, *to}, false, facts);
    if (NcclRankLines* rank = rank_lines(*from, facts)) ++rank->shared_memory;
  }
  return from;
}

void take_lone_path(std::string_view path, const std::string& place, NcclFacts& facts) {
  if (!path.starts_with("NET/")) return;
  path.remove_prefix(4);
  std::string network = legible(path.substr(0, path.find('/')), 60);
  if (facts.networks.size() >= 16 && !facts.networks.contains(network)) return;
  ++facts.networks[network];
  facts.network_places.try_emplace(std::move(network), place);
  NcclHostNet& host = facts.hosts[""];
  ++(path.find("/GDRDMA") != std::string_view::npos ? host.sends_with : host.sends_without);
}

}  // namespace ddpsim
