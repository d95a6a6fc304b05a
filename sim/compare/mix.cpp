#include "ddpsim/sim/compare/mix.hpp"

#include <algorithm>
#include <numeric>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

Mix mix(const std::vector<std::vector<WorkTime>>& works, std::span<const double> shares,
        std::size_t reference) {
  DDPSIM_ASSERT(!works.empty() && works.size() == shares.size(), "each workload has one share");
  Mix mix;
  const std::size_t candidates = works.front().size();
  for (std::size_t i = 0; i < candidates; ++i) {
    std::vector<WorkTime> own;
    std::vector<double> amounts;
    for (std::size_t k = 0; k < works.size(); ++k) {
      DDPSIM_ASSERT(works[k][reference].expected > 0, "a unit of work takes time");
      own.push_back(works[k][i]);
      amounts.push_back(shares[k] / works[k][reference].expected);
    }
    MixedCandidate candidate{.work = together(own, amounts), .time = {}, .behind = {}};
    candidate.time = range_of(candidate.work);
    mix.candidates.push_back(std::move(candidate));
  }
  std::vector<std::size_t>& order = mix.by_speed;
  order.resize(candidates);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return mix.candidates[i].time.value; });
  const WorkTime& fastest = mix.candidates[order.front()].work;
  for (const std::size_t i : order)
    if (i != order.front()) mix.candidates[i].behind = speedup(fastest, mix.candidates[i].work);
  return mix;
}

std::vector<std::size_t> contenders(const Mix& mix) {
  std::vector<std::size_t> all;
  for (const std::size_t i : mix.by_speed)
    if (all.empty() || !mix.candidates[i].behind.certain()) all.push_back(i);
  return all;
}

}  // namespace ddpsim
