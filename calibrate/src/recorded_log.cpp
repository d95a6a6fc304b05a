#include "ddpsim/calibrate/recorded_log.hpp"

#include <fmt/format.h>

#include <map>

#include "ddpsim/sim/recorded_all_reduces.hpp"

namespace ddpsim {
namespace {

double modelled_us(Bytes size, const Cluster& cluster, const CollectiveTuning& tuning) {
  const CollectiveChoice choice =
      select_algorithm(CollectiveKind::all_reduce, size, cluster, tuning);
  return cost(CollectiveKind::all_reduce, choice, size, cluster).microseconds();
}

std::string source_of(const Workload& workload) {
  for (const auto& [key, text] : workload.provenance)
    if (key == "source") return text;
  return workload.name.empty() ? "the recording" : workload.name;
}

}  // namespace

std::optional<MeasuredLog> recorded_log(const Workload& workload, const Cluster& cluster,
                                        const CollectiveTuning& tuning) {
  const RecordedAllReduces recorded = recorded_all_reduces(workload);
  MeasuredLog log;
  log.source = source_of(workload);
  log.nodes = cluster.nodes;
  log.gpus_per_node = cluster.gpus_per_node;
  log.ranks = cluster.ranks();
  log.nccl = workload.recorded_with.nccl.value_or(tuning.nccl);
  log.timed_by = recorded.waits_apart ? TimedBy::joined_ranks : TimedBy::one_rank;
  std::map<Bytes, double> shortest;
  for (const RecordedAllReduce& bucket : recorded.buckets) {
    for (const Duration time : bucket.times) {
      if (bucket.bytes <= Bytes() || time <= Duration()) continue;
      const double us = time.microseconds();
      if (recorded.waits_apart)
        log.points.push_back({.size = bucket.bytes, .time_us = us, .in_place_us = {}, .place = {}});
      else if (const auto [at, first] = shortest.emplace(bucket.bytes, us); !first)
        at->second = std::min(at->second, us);
    }
  }
  for (const auto& [size, us] : shortest)
    if (us < modelled_us(size, cluster, tuning))
      log.points.push_back({.size = size, .time_us = us, .in_place_us = {}, .place = {}});
  if (log.points.empty()) return std::nullopt;
  return log;
}

}  // namespace ddpsim
