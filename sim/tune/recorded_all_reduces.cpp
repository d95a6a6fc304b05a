#include "ddpsim/sim/recorded_all_reduces.hpp"

#include <algorithm>
#include <string>

namespace ddpsim {
namespace {

using Collectives = std::vector<RecordedCollective>;

bool carry_the_same(const Collectives& a, const Collectives& b) {
  return std::ranges::equal(a, b, {}, &RecordedCollective::bytes, &RecordedCollective::bytes);
}

/// The rank's own of that step; null where it has none like them. Where no step but one is known, its own.
const Collectives* of_step(const Recorded& recorded, const std::string& step,
                           const Collectives& like) {
  const Collectives* own = &recorded.recorded_with.collectives;
  if (!recorded.steps.empty()) {
    const auto found = std::ranges::find(recorded.steps, step, &StepSample::name);
    if (found == recorded.steps.end()) return nullptr;
    own = &found->collectives;
  }
  return carry_the_same(*own, like) ? own : nullptr;
}

/// The shortest of the ranks', bucket by bucket; empty where a rank lacks the step.
std::vector<Duration> transfers(const Workload& workload, const std::string& step,
                                const Collectives& first) {
  std::vector<Duration> shortest;
  for (const RecordedCollective& one : first) shortest.push_back(one.duration);
  for (const RankRecording& rank : workload.ranks) {
    const Collectives* own = of_step(rank, step, first);
    if (own == nullptr) return {};
    for (std::size_t i = 0; i < shortest.size(); ++i)
      shortest[i] = std::min(shortest[i], (*own)[i].duration);
  }
  return shortest;
}

}  // namespace

RecordedAllReduces recorded_all_reduces(const Workload& workload) {
  const Collectives& representative = workload.recorded_with.collectives;
  RecordedAllReduces all{.waits_apart = workload.ranks.size() > 1, .buckets = {}};
  for (const RecordedCollective& one : representative)
    all.buckets.push_back({.bytes = one.bytes, .times = {}, .channels = one.channels});
  const auto add = [&](const std::string& step, const Collectives& collectives) {
    if (!carry_the_same(collectives, representative)) return;
    const std::vector<Duration> times = transfers(workload, step, collectives);
    for (std::size_t i = 0; i < times.size(); ++i) all.buckets[i].times.push_back(times[i]);
  };
  for (const StepSample& step : workload.steps) add(step.name, step.collectives);
  const bool none = std::ranges::all_of(
      all.buckets, [](const RecordedAllReduce& one) { return one.times.empty(); });
  if (none) add("", representative);
  for (RecordedAllReduce& bucket : all.buckets) std::ranges::sort(bucket.times);
  return all;
}

}  // namespace ddpsim
