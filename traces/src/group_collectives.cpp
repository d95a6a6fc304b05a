#include "group_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

/// Three times the largest difference seen on one host. Hosts synchronised by NTP differ by more.
constexpr std::int64_t kSameClock_ns = 20'000;

bool ends_together(const GroupCollective& collective) {
  return collective.operation.find("broadcast") == std::string::npos &&
         collective.operation.find("send") == std::string::npos &&
         collective.operation.find("recv") == std::string::npos;
}

using ByOperation = std::map<std::string, std::vector<const RankCollective*>>;

ByOperation by_operation(const RankTrace& trace) {
  ByOperation result;
  for (const RankCollective& one : trace.collectives) result[one.operation].push_back(&one);
  return result;
}

std::string count_mismatch(const ByOperation& own, const ByOperation& first) {
  for (const auto& [operation, list] : first) {
    const auto found = own.find(operation);
    const std::size_t count = found == own.end() ? 0 : found->second.size();
    if (count != list.size()) {
      return fmt::format("{} of {} in the step, not {}", count, operation, list.size());
    }
  }
  for (const auto& [operation, list] : own) {
    if (!first.contains(operation)) {
      return fmt::format("{} of {} in the step, not 0", list.size(), operation);
    }
  }
  return "";
}

/// Since PyTorch 2.6, Kineto writes the number of each collective in its process group.
struct Numbered {
  std::string operation, group;
  std::int64_t sequence = 0;
  bool operator<(const Numbered& other) const {
    return std::tie(operation, group, sequence) <
           std::tie(other.operation, other.group, other.sequence);
  }
};

/// Each rank's collectives by number. Empty if one of them has no number, or if two have the same.
std::vector<std::map<Numbered, const RankCollective*>> by_number(
    const std::vector<RankTrace>& ranks) {
  std::vector<std::map<Numbered, const RankCollective*>> result;
  for (const RankTrace& trace : ranks) {
    auto& own = result.emplace_back();
    for (const RankCollective& one : trace.collectives)
      if (!one.sequence || !own.try_emplace({one.operation, one.group, *one.sequence}, &one).second)
        return {};
  }
  return result;
}

/// Matches the collectives that every rank has. Others are left out, because a recording may begin
/// or end within a step.
std::optional<CollectiveMatch> match_by_number(const std::vector<RankTrace>& ranks) {
  const auto numbered = by_number(ranks);
  if (numbered.empty() || numbered.front().empty()) return std::nullopt;
  CollectiveMatch match;
  std::set<Numbered> all;
  for (const auto& own : numbered)
    for (const auto& [number, one] : own) all.insert(number);
  for (const RankCollective& one : ranks.front().collectives) {
    const Numbered number{one.operation, one.group, *one.sequence};
    GroupCollective group{
        .operation = one.operation, .bytes = one.bytes, .start_ns = {}, .end_ns = {}};
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const auto at = numbered[r].find(number);
      if (at == numbered[r].end()) break;
      const RankCollective& own = *at->second;
      if (own.bytes && group.bytes && *own.bytes != *group.bytes) return std::nullopt;
      if (!group.bytes) group.bytes = own.bytes;
      group.start_ns.push_back(own.start_ns);
      group.end_ns.push_back(own.end_ns);
    }
    if (group.start_ns.size() == ranks.size()) match.collectives.push_back(std::move(group));
  }
  if (match.collectives.empty()) return std::nullopt;
  match.left_out = all.size() - match.collectives.size();
  return match;
}

}  // namespace

std::size_t GroupCollective::last_to_arrive() const {
  return static_cast<std::size_t>(std::max_element(start_ns.begin(), start_ns.end()) -
                                  start_ns.begin());
}

std::int64_t GroupCollective::held_up_ns() const {
  return last_arrival_ns() - quantile(start_ns, 0.5);
}

std::int64_t GroupCollective::transfer_ns() const {
  std::int64_t shortest = end_ns.front() - start_ns.front();
  for (std::size_t r = 1; r < end_ns.size(); ++r) {
    shortest = std::min(shortest, end_ns[r] - start_ns[r]);
  }
  return shortest;
}

std::int64_t GroupCollective::end_spread_ns() const {
  const auto [first, last] = std::minmax_element(end_ns.begin(), end_ns.end());
  return *last - *first;
}

CollectiveMatch match_collectives(const std::vector<RankTrace>& ranks) {
  if (auto match = match_by_number(ranks)) return *std::move(match);
  CollectiveMatch match;
  std::vector<ByOperation> lists;
  for (const RankTrace& trace : ranks) lists.push_back(by_operation(trace));
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    match.mismatch = count_mismatch(lists[r], lists.front());
    match.mismatched_rank = r;
    if (!match.mismatch.empty()) return match;
  }
  std::map<std::string, std::size_t> next;
  for (const RankCollective& one : ranks.front().collectives) {
    const std::size_t k = next[one.operation]++;
    GroupCollective group{
        .operation = one.operation, .bytes = one.bytes, .start_ns = {}, .end_ns = {}};
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const RankCollective& own = *lists[r][one.operation][k];
      if (own.bytes && group.bytes && *own.bytes != *group.bytes) {
        match.mismatch = fmt::format("{} bytes in {} {}, not {}", own.bytes->count(), own.operation,
                                     k, group.bytes->count());
        match.mismatched_rank = r;
        return match;
      }
      if (!group.bytes) group.bytes = own.bytes;
      group.start_ns.push_back(own.start_ns);
      group.end_ns.push_back(own.end_ns);
    }
    match.collectives.push_back(std::move(group));
  }
  return match;
}

Clocks align_clocks(std::vector<GroupCollective>& collectives, std::size_t ranks) {
  Clocks clocks;
  clocks.shift_ns.assign(ranks, 0);
  for (std::size_t r = 1; r < ranks; ++r) {
    std::vector<std::int64_t> differences;
    for (const GroupCollective& one : collectives) {
      if (ends_together(one)) differences.push_back(one.end_ns[r] - one.end_ns[0]);
    }
    clocks.compared = differences.size();
    if (!differences.empty()) clocks.shift_ns[r] = quantile(std::move(differences), 0.5);
  }
  clocks.shifted = std::any_of(clocks.shift_ns.begin(), clocks.shift_ns.end(),
                               [](std::int64_t shift) { return std::abs(shift) > kSameClock_ns; });
  if (!clocks.shifted) clocks.shift_ns.assign(ranks, 0);
  for (GroupCollective& one : collectives) {
    for (std::size_t r = 0; r < ranks; ++r) {
      one.start_ns[r] -= clocks.shift_ns[r];
      one.end_ns[r] -= clocks.shift_ns[r];
    }
    if (ends_together(one))
      clocks.end_spread_ns = std::max(clocks.end_spread_ns, one.end_spread_ns());
  }
  return clocks;
}

}  // namespace ddpsim
