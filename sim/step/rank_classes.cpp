#include "rank_classes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "ddpsim/sim/values/limits.hpp"
namespace ddpsim {

bool same_order(const Recorded& a, const Recorded& b) {
  return std::ranges::equal(a.backward->ready, b.backward->ready, {}, &ReadyEvent::parameter,
                            &ReadyEvent::parameter);
}

RankClasses rank_classes(const Job& job, const std::vector<RankState>& states) {
  if (states.empty() && job.workload().ranks.empty()) return {.classes = {{}}, .class_of_rank = {}};
  using Key = std::tuple<std::optional<std::size_t>, double, Duration>;
  std::map<Key, std::size_t> known;
  RankClasses found;
  // Beyond this many ranks there are no states, and recordings repeat.
  for (int rank = 0; rank < std::min(job.cluster().ranks(), kMostDifferentRanks); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const RankClass own{.rank = rank,
                        .recording = recording_of(job.workload(), rank),
                        .state = states.empty() ? nullptr : &states[index]};
    const RankState state = own.state ? *own.state : RankState{};
    const auto [entry, is_new] =
        known.emplace(Key{own.recording, state.slowdown, state.start}, found.classes.size());
    if (is_new) found.classes.push_back(own);
    found.class_of_rank.push_back(entry->second);
  }
  return found;
}

}  // namespace ddpsim
