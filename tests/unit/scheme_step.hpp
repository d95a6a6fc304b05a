// A step under a scheme small enough for paper: an embedding, three layers and a head, two ranks, times in whole
// microseconds. Layers are units; embedding and head are the root's.
//
//   gradient               head    layers.2  layers.1  layers.0  embed    in the order backward writes them
//   of backward, us        20      40        80        50        10       together 200
//   of the forward, us     10      20        40        25        5        together 100, from embed to head
//   all-gather, us         40, 30, 20 of layers 2, 1, 0; the root's 10
//   reduce-scatter, us     35, 25, 15; 5
//   all-reduce, us         36, 26, 16; 6
//   optimizer, us          20, on the whole of the parameters
//
// A host is a forward ahead, so that nothing waits to be launched; copies, casts and hooks take no time.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planned_step.hpp"
#include "rates.hpp"
#include "schedule_step.hpp"
#include "small_jobs.hpp"
#include "summary.hpp"

namespace ddpsim::schemes {

using namespace ddpsim::literals;

inline constexpr CollectiveKind kReduces = CollectiveKind::all_reduce;
inline constexpr CollectiveKind kGathers = CollectiveKind::all_gather;
inline constexpr CollectiveKind kScatters = CollectiveKind::reduce_scatter;

/// What a collective of a unit takes.
using TimeOf = std::function<Duration(CollectiveKind, const std::string& unit, StepPhase)>;

inline Parameter parameter(std::string name, std::vector<std::int64_t> shape,
                           Dtype dtype = Dtype::float32) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  parameter.dtype = dtype;
  return parameter;
}

inline Workload layered() {
  Workload step;
  step.name = "layers";
  step.forward = 100_us;
  step.optimizer = 20_us;
  for (const char* name : {"embed.weight", "layers.0.linear.weight", "layers.1.linear.weight",
                           "layers.2.linear.weight", "head.weight"})
    step.parameters.push_back(parameter(name, {1000, 1000}));
  step.backward = Backward{.duration = 200_us,
                           .ready = {{.parameter = 4, .at = 20_us, .copied_at = {}},
                                     {.parameter = 3, .at = 60_us, .copied_at = {}},
                                     {.parameter = 2, .at = 140_us, .copied_at = {}},
                                     {.parameter = 1, .at = 190_us, .copied_at = {}},
                                     {.parameter = 0, .at = 200_us, .copied_at = {}}}};
  return step;
}

/// As the table above says; of parameters that travel alone what their layer takes, the head's 5.
inline Duration by_the_table(CollectiveKind kind, const std::string& unit, StepPhase /*phase*/) {
  const auto of = [&](Duration gather, Duration reduce, Duration all_reduce) {
    if (kind == CollectiveKind::all_gather) return gather;
    return kind == CollectiveKind::reduce_scatter ? reduce : all_reduce;
  };
  if (unit.starts_with("layers.2")) return of(40_us, 35_us, 36_us);
  if (unit.starts_with("layers.1")) return of(30_us, 25_us, 26_us);
  if (unit.starts_with("layers.0")) return of(20_us, 15_us, 16_us);
  if (unit == "head.weight") return of({}, {}, 5_us);
  if (unit == "all gradients") return of({}, {}, 70_us);
  return of(10_us, 5_us, 6_us);
}

/// Two nodes of two GPUs.
inline Cluster two_by_two() {
  const auto part = [](int nodes, int gpus) {
    Cluster cluster = small::node(gpus);
    cluster.nodes = nodes;
    cluster.network = {.kind = NetworkKind::infiniband,
                       .nics_per_node = 1,
                       .per_nic = Bandwidth::gigabytes_per_second(10)};
    return cluster;
  };
  Cluster cluster = part(2, 2);
  for (const auto& [nodes, gpus] : {std::pair(1, 2), std::pair(2, 1), std::pair(1, 1)})
    cluster.groups.push_back(std::make_shared<const Cluster>(part(nodes, gpus)));
  return cluster;
}

struct Step {
  StepTimes times;
  std::vector<CollectiveResult> collectives;
  PlannedStep planned;
};

inline SimulationOptions options(Scheme scheme) {
  SimulationOptions options = small::bare();
  options.scheme = std::move(scheme);
  return options;
}

/// On that job, whose collectives take what `time` says and fill their links meanwhile.
inline Step run(const Job& job, const TimeOf& time = by_the_table) {
  Step step;
  step.planned = schedule_step(job, {}, {}, {});
  for (std::size_t i = 0; i < step.planned.collectives.size(); ++i) {
    const StepCollective& collective = step.planned.collectives[i];
    ScheduledCollective& scheduled = step.planned.schedule.collectives[i];
    scheduled.transfer = time(scheduled.kind, collective.unit, collective.phase);
    scheduled.volume = scheduled.transfer;
  }
  const Execution execution = execute(step.planned.schedule, rates_of(job));
  step.times = attribute_step(step.planned, execution, job);
  step.collectives = describe_collectives(step.planned, execution);
  return step;
}

inline Step run(Scheme scheme, const TimeOf& time = by_the_table, int accumulate = 1,
                const Cluster& cluster = small::node(2)) {
  SimulationOptions all = options(std::move(scheme));
  all.accumulate = accumulate;
  return run(Job(layered(), cluster, all, FreeModel{}), time);
}

/// "all-gather layers.0: 10 to 30", a line each, in the order launched; `from` an instant on.
inline std::string on_the_wire(const Step& step, Duration from = {}) {
  std::string text;
  for (const CollectiveResult& one : step.collectives)
    if (one.start.since_start() >= from)
      text += fmt::format("\n{} {}: {} to {}", name_of(one.kind), one.unit,
                          one.last_arrival.since_start().microseconds(),
                          one.end.since_start().microseconds());
  return text;
}

/// Parts of the step, in microseconds.
struct Parts {
  double exposed_forward;
  double exposed_backward;
  double optimizer;
  double iteration;
};

/// Compute, and what waits for it, is what it always is.
inline std::string differences(const Step& step, const Parts& expected, int micro_batches = 1) {
  std::string text;
  const auto compare = [&](const char* part, Duration got, double us) {
    if (got != Duration::microseconds(us))
      text += fmt::format("\n{}: {} us, expected {} us", part, got.microseconds(), us);
  };
  const StepTimes& times = step.times;
  compare("forward", times.forward, 100.0 * micro_batches);
  compare("backward", times.backward, 200.0 * micro_batches);
  compare("exposed in forward", times.exposed_in_forward, expected.exposed_forward);
  compare("exposed in backward", times.exposed_backward(), expected.exposed_backward);
  compare("exposed in optimizer", times.exposed_in_optimizer, 0);
  compare("exposed", times.exposed_communication,
          expected.exposed_forward + expected.exposed_backward);
  compare("optimizer", times.optimizer, expected.optimizer);
  compare("iteration", times.iteration, expected.iteration);
  return text;
}

}  // namespace ddpsim::schemes
