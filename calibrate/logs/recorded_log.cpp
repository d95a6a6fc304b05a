#include "ddpsim/calibrate/logs/recorded_log.hpp"

#include <fmt/format.h>

#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"

namespace ddpsim {
namespace {

std::string source_of(const Workload& workload) {
  for (const auto& [key, text] : workload.provenance)
    if (key == "source") return text;
  return workload.name.empty() ? "the recording" : workload.name;
}

/// The recorder states the backend. On CPUs, PyTorch's own is gloo.
std::string backend_of(const Workload& workload) {
  for (const auto& [key, text] : workload.provenance)
    if (key == "backend") return text;
  return workload.gpu == "CPU" ? "gloo" : "another library than NCCL";
}

}  // namespace

std::optional<MeasuredLog> recorded_log(const Workload& workload, JobShape shape) {
  const RecordedAllReduces recorded = recorded_all_reduces(workload);
  MeasuredLog log;
  log.source = source_of(workload);
  log.nodes = shape.nodes;
  log.gpus_per_node = shape.gpus_per_node;
  log.ranks =
      workload.recorded_with.world_size > 0 ? workload.recorded_with.world_size : shape.ranks();
  log.gpu = workload.gpu;
  log.nccl = workload.recorded_with.nccl;
  if (workload.recorded_with.nccl_kernels == 0) log.backend = backend_of(workload);
  log.timed_by = recorded.waits_apart ? TimedBy::joined_ranks : TimedBy::one_rank;
  const auto add = [&](Bytes size, Duration time) {
    if (size > Bytes() && time > Duration())
      log.points.push_back({.size = size,
                            .time_us = time.microseconds(),
                            .in_place_us = {},
                            .place = {},
                            .wrong_in_place = {}});
  };
  for (const RecordedAllReduce& bucket : recorded.buckets) {
    if (bucket.times.empty()) continue;
    if (!recorded.waits_apart) {
      add(bucket.bytes, bucket.times.front());
      continue;
    }
    for (const Duration time : bucket.times) add(bucket.bytes, time);
  }
  if (log.points.empty() || log.ranks <= 1) return std::nullopt;
  for (const std::vector<RecordedCollective>& step : recorded.steps) {
    log.steps.emplace_back();
    for (const RecordedCollective& one : step)
      log.steps.back().push_back(
          {one.bytes, one.start.microseconds(), one.duration.microseconds()});
  }
  const std::string whose = recorded.waits_apart ? "joined ranks, without waits"
                            : workload.ranks.size() > 1
                                ? fmt::format("{} of {} ranks, including waits for the others",
                                              workload.ranks.size(), log.ranks)
                                : "one rank, including its waits";
  log.recognised.push_back(fmt::format("{} all-reduces of {}", log.points.size(), whose));
  return log;
}

}  // namespace ddpsim
