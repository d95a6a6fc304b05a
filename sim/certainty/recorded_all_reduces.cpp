#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace ddpsim {
namespace {

using Collectives = std::vector<RecordedCollective>;

bool carry_the_same(const Collectives& a, const Collectives& b) {
  return std::ranges::equal(a, b, {}, &RecordedCollective::bytes, &RecordedCollective::bytes);
}

/// The collectives of that step, if they carry the same bytes; null if none do.
const Collectives* of_step(const Recorded& recorded, const std::string& step,
                           const Collectives& like) {
  const auto found = std::ranges::find(recorded.steps, step, &StepSample::name);
  if (found == recorded.steps.end() || !carry_the_same(found->collectives, like)) return nullptr;
  return &found->collectives;
}

void shorten(std::vector<Duration>& times, const Collectives& by) {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], by[i].duration);
}

std::vector<Duration> durations(const Collectives& collectives) {
  std::vector<Duration> times;
  for (const RecordedCollective& one : collectives) times.push_back(one.duration);
  return times;
}

/// For each bucket, the shortest time over the ranks; empty if a rank lacks the step.
std::vector<Duration> transfers(const Workload& workload, const StepSample& step) {
  std::vector<Duration> shortest = durations(step.collectives);
  for (const RankRecording& rank : workload.ranks) {
    const Collectives* own = of_step(rank, step.name, step.collectives);
    if (own == nullptr) return {};
    shorten(shortest, *own);
  }
  return shortest;
}

/// For each all-reduce of the representative step, the shortest time on any rank that recorded
/// all-reduces of the same bytes in that step.
std::vector<Duration> representative_transfers(const Workload& workload) {
  const Collectives& first = workload.recorded_with.collectives;
  std::vector<Duration> shortest = durations(first);
  for (const RankRecording& rank : workload.ranks)
    if (carry_the_same(rank.recorded_with.collectives, first))
      shorten(shortest, rank.recorded_with.collectives);
  return shortest;
}

/// If all ranks were recorded, the last to arrive is one of them.
bool all_ranks_recorded(const Workload& workload) {
  const RecordedWith& with = workload.recorded_with;
  return workload.ranks.size() > 1 &&
         workload.ranks.size() == static_cast<std::size_t>(with.world_size) &&
         std::ranges::all_of(workload.ranks, [&](const RankRecording& rank) {
           return carry_the_same(rank.recorded_with.collectives, with.collectives);
         });
}

}  // namespace

RecordedAllReduces recorded_all_reduces(const Workload& workload) {
  const Collectives& representative = workload.recorded_with.collectives;
  RecordedAllReduces all{.waits_apart = all_ranks_recorded(workload), .buckets = {}};
  for (const RecordedCollective& one : representative)
    all.buckets.push_back({.bytes = one.bytes, .times = {}, .channels = one.channels});
  const auto add = [&](const std::vector<Duration>& times, Collectives step) {
    for (std::size_t i = 0; i < times.size(); ++i) all.buckets[i].times.push_back(times[i]);
    if (!all.waits_apart || times.empty()) return;
    for (std::size_t i = 0; i < times.size(); ++i) {
      step[i].start += step[i].duration - times[i];
      step[i].duration = times[i];
    }
    all.steps.push_back(std::move(step));
  };
  for (const StepSample& step : workload.steps)
    if (carry_the_same(step.collectives, representative))
      add(transfers(workload, step), step.collectives);
  if (!all.buckets.empty() && all.buckets.front().times.empty())
    add(representative_transfers(workload), representative);
  for (RecordedAllReduce& bucket : all.buckets) std::ranges::sort(bucket.times);
  return all;
}

bool is_recorded_on(const Workload& workload, const Cluster& cluster) {
  const RecordedWith& with = workload.recorded_with;
  return with.world_size > 1 && with.world_size == cluster.ranks() &&
         workload.gpu == cluster.gpu.name && !workload.carried_over;
}

}  // namespace ddpsim
