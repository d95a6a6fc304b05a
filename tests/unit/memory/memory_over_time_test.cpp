// The memory counter of a Perfetto timeline: sizes of memory.hpp at the times of the spans.
#include "ddpsim/sim/memory/memory_over_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Three gradients of 4, 8 and 12 MiB after 10, 20 and 40 us of a backward of 40 us; forward takes
/// 10 us. Activations of 60 MiB are freed as backward goes.
Job job_under(Scheme scheme) {
  Workload workload =
      small::chain({{4 * small::kMiB, 10}, {8 * small::kMiB, 20}, {12 * small::kMiB, 40}}, 10, 40);
  workload.activations = Activations{.bytes = Bytes(60 * small::kMiB), .held = {}, .by = {}};
  for (const std::int64_t held : {60, 50, 20, 5, 0})
    workload.activations->held.emplace_back(held * small::kMiB);
  SimulationOptions options = small::bare();
  options.torch = {2, 8};
  options.optimizer.kind = Optimizer::sgd;
  options.scheme = std::move(scheme);
  return {std::move(workload), small::node(2), std::move(options), FreeModel{}};
}

CounterLevels levels_of(const Job& job) {
  const SimulationResult result = simulate(job, nullptr, WithTimeline::yes);
  return memory_over_time(peak_memory(job), job.workload(), result.timeline.ranks.front());
}

std::int64_t mib_at(const CounterLevels& levels, double us) {
  std::int64_t value = 0;
  for (const CounterLevel& level : levels)
    if (level.from.since_start().microseconds() <= us) value = level.value;
  return value / small::kMiB;
}

}  // namespace

TEST_CASE("memory over time: forward fills what backward frees") {
  const CounterLevels levels = levels_of(job_under(Ddp{}));
  // Parameters and buckets take 24 MiB each. The last gradient of backward takes half its time, so
  // its layer takes half of forward.
  CHECK(mib_at(levels, 0.1) == 48 + 20);
  CHECK(mib_at(levels, 5.1) == 48 + 50);
  CHECK(mib_at(levels, 7.6) == 48 + 60);
  CHECK(mib_at(levels, 10.1) == 48 + 60);
  CHECK(mib_at(levels, 20.1) == 48 + 4 + 50);
  CHECK(mib_at(levels, 30.1) == 48 + 4 + 8 + 20);
}

TEST_CASE("memory over time: its largest level is the largest moment under every kind of scheme") {
  for (const Scheme& scheme :
       std::vector<Scheme>{Ddp{}, NaiveAllReduce{}, Fsdp1{}, Fsdp2{}, Zero{}}) {
    const Job job = job_under(scheme);
    const PeakMemory memory = peak_memory(job);
    const CounterLevels levels = levels_of(job);
    const auto most = std::ranges::max_element(levels, {}, &CounterLevel::value);
    REQUIRE(most != levels.end());
    CHECK(most->value == memory.parts.known().count());
  }
}

TEST_CASE("memory over time: nothing is drawn without activations") {
  Job job = job_under(Ddp{});
  const SimulationResult result = simulate(job, nullptr, WithTimeline::yes);
  Workload unknown = job.workload();
  unknown.activations.reset();
  const Job blind(unknown, job.cluster(), job.options(), FreeModel{});
  CHECK(memory_over_time(peak_memory(blind), unknown, result.timeline.ranks.front()).empty());
}
