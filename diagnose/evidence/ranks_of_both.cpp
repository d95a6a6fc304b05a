#include "ranks_of_both.hpp"

#include <cstdint>

namespace ddpsim {
namespace {

using TwoCounts = std::pair<int, int>;
/// Two counts on each side, added up over ranks or channels.
struct SideCounts {
  double old_first = 0, old_all = 0, new_first = 0, new_all = 0;

  void add(const TwoCounts& was, const TwoCounts& is) {
    old_first += was.first;
    old_all += was.first + was.second;
    new_first += is.first;
    new_all += is.first + is.second;
  }
  /// Adds one or the other on each side, so that repeated printing has no weight.
  void add_unmixed(const TwoCounts& was, const TwoCounts& is) {
    const auto unmixed = [](const TwoCounts& count) {
      return (count.first > 0) != (count.second > 0);
    };
    if (unmixed(was) && unmixed(is))
      add({was.first > 0, was.second > 0}, {is.first > 0, is.second > 0});
  }
  std::optional<RanksOfBoth::Shares> shares() const {
    if (old_all == 0 || new_all == 0) return std::nullopt;
    return RanksOfBoth::Shares{old_first / old_all, new_first / new_all};
  }
};

}  // namespace

RanksOfBoth::RanksOfBoth(const NcclFacts& before, const NcclFacts& after)
    : before_(before), after_(after) {
  const LoggedCommunicator* was = before.largest();
  const LoggedCommunicator* is = after.largest();
  const bool other_channels = was != nullptr && is != nullptr && was->ranks == is->ranks &&
                              was->channels && is->channels && was->channels != is->channels;
  const std::map<int, EndCounts> ends = count_ends();
  for (const auto& [rank, lines] : before.ranks)
    if (const auto now = after.ranks.find(rank); now != after.ranks.end()) {
      const bool to_its_end = lines.complete && now->second.complete && !before.torn && !after.torn;
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

std::map<int, RanksOfBoth::EndCounts> RanksOfBoth::count_ends() const {
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
void RanksOfBoth::for_common_ends(const Take& take) const {
  for (const bool sends : {true, false}) {
    const auto& is_ends = sends ? after_.sends : after_.receives;
    for (const auto& [key, was] : sends ? before_.sends : before_.receives) {
      const int rank = sends ? key.second.first : key.second.second;
      if (!partly_.contains(rank) && !fewer_channels_.contains(rank)) continue;
      if (const auto is = is_ends.find(key); is != is_ends.end()) take(rank, was, is->second);
    }
  }
}

RanksOfBoth::Nics RanksOfBoth::nics() const {
  Nics all;
  for (const auto& [was, is] : whole_) {
    if (!fewer_channels_.empty()) break;  // compared by common channels below
    all.before.insert(was->nics.begin(), was->nics.end());
    all.after.insert(is->nics.begin(), is->nics.end());
  }
  const auto take = [](const std::string& host, std::uint64_t bits, auto& into) {
    for (int nic = 0; nic < 64; ++nic)
      if ((bits >> nic & 1) != 0) into.insert({host, nic});
  };
  for_common_ends([&](int rank, const NcclNetEnd& was, const NcclNetEnd& is) {
    if (!same_ends_.contains(rank) && !fewer_channels_.contains(rank)) return;
    // Several communicators may have this channel, and a cut-off log lacks some of them.
    const std::uint64_t common = was.nics & is.nics;
    const bool same = common == was.nics || common == is.nics;
    take(was.host, same ? common : was.nics, all.before);
    take(is.host, same ? common : is.nics, all.after);
  });
  return all;
}

std::optional<RanksOfBoth::Shares> RanksOfBoth::gpudirect() const {
  SideCounts counts;
  for (const auto& [was, is] : whole_)
    counts.add({was->with_gpudirect, was->without}, {is->with_gpudirect, is->without});
  for_common_ends([&](int rank, const NcclNetEnd& was, const NcclNetEnd& is) {
    if (same_ends_.contains(rank) || alike_ends_.contains(rank))
      counts.add_unmixed({was.with_gpudirect, was.without}, {is.with_gpudirect, is.without});
  });
  return counts.shares();
}

std::optional<RanksOfBoth::Shares> RanksOfBoth::shared_memory() const {
  SideCounts counts;
  for (const auto& [was, is] : whole_)
    counts.add({was->shared_memory, was->peer_to_peer}, {is->shared_memory, is->peer_to_peer});
  for (const auto& [pair, was] : before_.local_pairs) {
    const auto is = after_.local_pairs.find(pair);
    if (is != after_.local_pairs.end() && partly_.contains(pair.first))
      counts.add_unmixed({was.second, was.first}, {is->second.second, is->second.first});
  }
  return counts.shares();
}

}  // namespace ddpsim
