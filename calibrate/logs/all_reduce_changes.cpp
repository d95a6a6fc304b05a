#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

/// A size other than the largest is compared if it changed at least by this factor.
constexpr double kClearlyOther = 1.2;
/// A size other than the largest is compared only if it also changed this many times as much as the
/// largest size.
constexpr double kTimesMore = 2;

using TimesBySize = std::map<Bytes, std::vector<Duration>>;

TimesBySize by_size(const std::vector<std::pair<Bytes, Duration>>& times) {
  TimesBySize sizes;
  for (const auto& [size, time] : times)
    if (time > Duration() && size > Bytes()) sizes[size].push_back(time);
  for (auto& [size, all] : sizes) std::ranges::sort(all);
  return sizes;
}

Duration lower_median(const std::vector<Duration>& sorted) {
  return sorted[(sorted.size() - 1) / 2];
}

double bus_factor(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

/// Factor that turns a time on the new ranks into a time on the old ranks.
double scale_of(int before, int after) {
  return before < 2 || after < 2 ? 1 : bus_factor(before) / bus_factor(after);
}

/// Distance of a growth from 1, the same in both directions.
double distance(double growth) {
  return std::abs(elementary::log(growth));
}

bool is_clear(double growth) {
  return distance(growth) > elementary::log(kClearChange);
}

std::size_t size_to_compare(const std::vector<SizeChange>& sizes) {
  const std::size_t largest = sizes.size() - 1;
  std::size_t most = largest;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (sizes[k].clear && distance(sizes[k].growth) > distance(sizes[most].growth)) most = k;
  const double change = distance(sizes[most].growth);
  return change >= elementary::log(kClearlyOther) &&
                 change >= kTimesMore * distance(sizes[largest].growth)
             ? most
             : largest;
}

std::pair<const LoggedAllReduces*, const LoggedAllReduces*> comparable(
    const std::vector<LoggedAllReduces>& before, const std::vector<LoggedAllReduces>& after) {
  std::pair<const LoggedAllReduces*, const LoggedAllReduces*> found = {&before.front(),
                                                                       &after.front()};
  std::tuple<int, bool, bool> most;
  for (const LoggedAllReduces& old : before)
    for (const LoggedAllReduces& now : after) {
      const std::tuple alike(old.ranks, old.nodes == now.nodes, old.settings == now.settings);
      if (old.ranks == now.ranks && old.ranks > 0 && alike > most) {
        most = alike;
        found = {&old, &now};
      }
    }
  return found;
}

}  // namespace

std::size_t AllReduceChanges::slower() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sizes, [](const SizeChange& one) { return one.clear && one.growth > 1; }));
}

std::size_t AllReduceChanges::faster() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sizes, [](const SizeChange& one) { return one.clear && one.growth < 1; }));
}

std::optional<AllReduceChanges> all_reduce_changes(const std::vector<LoggedAllReduces>& before,
                                                   const std::vector<LoggedAllReduces>& after) {
  if (before.empty() || after.empty()) return std::nullopt;
  const auto [old, now] = comparable(before, after);
  AllReduceChanges changes{.ranks_before = old->ranks,
                           .ranks_after = now->ranks,
                           .before = static_cast<std::size_t>(old - before.data()),
                           .after = static_cast<std::size_t>(now - after.data())};
  if (old->ranks == 0 || now->ranks == 0) changes.ranks_before = changes.ranks_after = 0;
  const double scale = scale_of(old->ranks, now->ranks);
  const TimesBySize old_times = by_size(old->out_of_place), new_times = by_size(now->out_of_place);
  const TimesBySize old_in_place = by_size(old->in_place), new_in_place = by_size(now->in_place);
  for (const auto& [size, times] : old_times) {
    const auto at = new_times.find(size);
    if (at == new_times.end()) continue;
    SizeChange change{
        .size = size, .before = lower_median(times), .after = lower_median(at->second)};
    change.growth = scale * (change.after / change.before);
    change.clear = is_clear(change.growth);
    const auto was = old_in_place.find(size);
    const auto is = new_in_place.find(size);
    if (was != old_in_place.end() && is != new_in_place.end()) {
      const double growth = scale * (lower_median(is->second) / lower_median(was->second));
      change.clear = change.clear && is_clear(growth) && (growth > 1) == (change.growth > 1);
    }
    changes.sizes.push_back(change);
  }
  if (changes.sizes.empty()) return std::nullopt;
  changes.compared = size_to_compare(changes.sizes);
  return changes;
}

std::optional<double> known_busbw(Bytes size, Duration time, int ranks) {
  if (ranks < 2 || time <= Duration()) return std::nullopt;
  return busbw_gbps(size, time, ranks);
}

}  // namespace ddpsim
