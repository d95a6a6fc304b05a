#include "pair_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

/// Groups are reported only if at least this share of the pairs across groups is slow, and at least
/// this share of the pairs within is not.
constexpr double kNearlyAll = 0.9;
/// With fewer slow pairs across, single paths are reported instead.
constexpr std::size_t kLeastAcross = 3;
constexpr int kMostRounds = 50;

class Grouping {
 public:
  Grouping(const PairMatrix& matrix, double slow_below) : matrix_(matrix), slow_below_(slow_below) {
    for (const PairBandwidth& pair : matrix.pairs)
      for (const std::string& name : {pair.a, pair.b}) index_.try_emplace(name, 0);
    std::size_t next = 0;
    for (auto& [name, index] : index_) index = next++;
    neighbours_.resize(next);
    group_of_.resize(next);
    for (const PairBandwidth& pair : matrix.pairs) {
      const std::size_t a = index_.at(pair.a), b = index_.at(pair.b);
      const int sign = is_slow(pair) ? -1 : 1;
      neighbours_[a].emplace_back(b, sign);
      neighbours_[b].emplace_back(a, sign);
    }
  }

  PairGroups run() {
    for (std::size_t node = 0; node < group_of_.size(); ++node) group_of_[node] = node;
    for (int round = 0; round < kMostRounds; ++round) {
      const bool moved = move_nodes();
      const bool merged = merge_groups();
      if (!moved && !merged) break;
    }
    return counted();
  }

 private:
  bool is_slow(const PairBandwidth& pair) const { return pair.busbw_gbps < slow_below_; }

  bool move_nodes() {
    bool moved = false;
    for (std::size_t node = 0; node < group_of_.size(); ++node) {
      std::map<std::size_t, int> score;
      for (const auto& [other, sign] : neighbours_[node]) score[group_of_[other]] += sign;
      std::size_t best = group_of_[node];
      int most = score.contains(best) ? score[best] : 0;
      for (const auto& [group, sum] : score)
        if (sum > most) {
          most = sum;
          best = group;
        }
      if (most < 0) best = empty_group();
      moved = moved || best != group_of_[node];
      group_of_[node] = best;
    }
    return moved;
  }

  /// A group number that no node has; there are as many numbers as nodes.
  std::size_t empty_group() const {
    std::vector<bool> used(group_of_.size());
    for (const std::size_t group : group_of_) used[group] = true;
    const auto at = std::ranges::find(used, false);
    return at == used.end() ? 0 : static_cast<std::size_t>(at - used.begin());
  }

  bool merge_groups() {
    std::map<std::pair<std::size_t, std::size_t>, int> between;
    for (std::size_t node = 0; node < group_of_.size(); ++node)
      for (const auto& [other, sign] : neighbours_[node])
        if (group_of_[node] < group_of_[other])
          between[{group_of_[node], group_of_[other]}] += sign;
    const auto best =
        std::ranges::max_element(between, {}, [](const auto& entry) { return entry.second; });
    if (best == between.end() || best->second <= 0) return false;
    std::replace(group_of_.begin(), group_of_.end(), best->first.second, best->first.first);
    return true;
  }

  PairGroups counted() const {
    std::map<std::size_t, std::vector<std::string>> members;
    for (const auto& [name, index] : index_) members[group_of_[index]].push_back(name);
    std::erase_if(members, [](const auto& group) { return group.second.size() < 2; });
    PairGroups result;
    std::vector<double> across, within;
    for (const PairBandwidth& pair : matrix_.pairs) {
      const std::size_t a = group_of_[index_.at(pair.a)], b = group_of_[index_.at(pair.b)];
      if (!members.contains(a) || !members.contains(b)) continue;
      (a == b ? within : across).push_back(pair.busbw_gbps);
      (a == b ? result.slow_within : result.slow_across) += is_slow(pair) ? 1U : 0U;
    }
    result.across = across.size();
    result.within = within.size();
    const auto share = [](std::size_t slow, std::size_t all) {
      return all == 0 ? 0 : static_cast<double>(slow) / static_cast<double>(all);
    };
    if (members.size() < 2 || result.slow_across < kLeastAcross ||
        share(result.slow_across, result.across) < kNearlyAll ||
        share(result.slow_within, result.within) > 1 - kNearlyAll)
      return {};
    result.across_gbps = quantile(std::move(across), 0.5);
    result.within_gbps = quantile(std::move(within), 0.5);
    for (auto& [group, names] : members) result.groups.push_back(std::move(names));
    std::ranges::sort(result.groups);
    return result;
  }

  const PairMatrix& matrix_;
  const double slow_below_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::vector<std::pair<std::size_t, int>>> neighbours_;
  std::vector<std::size_t> group_of_;
};

std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 16;
  const std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  return fmt::format(
      "{}{}", fmt::join(shown, ", "),
      names.size() > kMostNames ? fmt::format(" and {} more", names.size() - kMostNames) : "");
}

}  // namespace

PairGroups find_pair_groups(const PairMatrix& matrix, double slow_below) {
  return Grouping(matrix, slow_below).run();
}

std::string group_words(const PairGroups& groups) {
  std::vector<std::string> lists;
  for (const std::vector<std::string>& names : groups.groups)
    lists.push_back("{" + some_names(names) + "}");
  return fmt::format(
      "{} groups of nodes, {}: {} of {} pairs across them are slow (median {:.3g} GB/s), {} of {} "
      "within them (median {:.3g} GB/s). So the links between the groups are slow, such as the "
      "uplinks of two leaf switches, but no node is",
      groups.groups.size(), fmt::join(lists, " and "), groups.slow_across, groups.across,
      groups.across_gbps, groups.slow_within, groups.within, groups.within_gbps);
}

}  // namespace ddpsim
