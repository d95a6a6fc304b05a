// Recordings whose host set the pace: how much of its waits a measured step leaves, and what only
// they would save.
#include "host_ahead.hpp"

#include <algorithm>

#include "alpha_beta.hpp"
#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "gain.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// 7 ms as recorded, 2 of them between steps; the GPU was busy for 2.5.
small::OpenJob waiting() {
  small::OpenJob job{.workload = small::mib_layers({1000, 2000, 3000, 4000}, 1000),
                     .model = FreeModel{}};
  job.workload.iteration = 7_ms;
  job.workload.busy = {.forward = 500_us, .backward = 2_ms, .optimizer = {}};
  return job;
}

Duration apart(Duration a, Duration b) {
  return std::max(a, b) - std::min(a, b);
}

}  // namespace

TEST_CASE("host ahead: a measured step tells how much of the waits the profiler caused") {
  const Job job = waiting();
  for (const Duration measured : {3_ms, 4_ms}) {
    const auto real = without_profiler(job, measured);
    REQUIRE(real);
    CHECK(apart(simulate_times(*real).iteration, measured) < 1_us);
    CHECK_FALSE(launch_bound(real->workload()));  // the remaining waits are not the profiler's
  }
  CHECK_FALSE(
      // Shorter than the GPU was busy, so something else explains it.
      without_profiler(job, 2400_us));
  CHECK_FALSE(without_profiler(job, 7100_us));
  small::OpenJob busy = waiting();
  busy.workload.busy->backward = 4500_us;
  busy.workload.iteration.reset();  // and no pause
  CHECK_FALSE(without_profiler(busy, 6_ms));
}

TEST_CASE("host ahead: the removed time was waits for launches, and the work stays") {
  small::OpenJob job = waiting();
  // Out of 2 ms in which the GPU was idle.
  job.workload.launch_waits.backward = 1900_us;
  const auto work = [](const Workload& workload) {
    return workload.backward->duration - workload.launch_waits.backward;
  };
  for (const double share : {0.1, 0.5, 1.0}) {
    CAPTURE(share);
    CHECK(apart(work(host_partly_ahead(job.workload, share)), work(job.workload)) < 1_us);
  }
  CHECK(host_partly_ahead(job.workload, 0).launch_waits.backward == Duration());
}

TEST_CASE("host ahead: a gain spans both readings, and saving only recorded waits is no gain") {
  small::OpenJob job = waiting();
  job.options.costs = SimulationOptions().costs;  // copies take time
  job.workload.recorded_with.ddp_hooks = true;
  job.workload.recorded_with.finalize = 1_ms;  // copies out, each launched by a slow host
  REQUIRE(launch_bound(job.workload));
  const auto view = [](const Job& current) {
    SimulationOptions options = current.options();
    options.ddp_to_set().gradient_as_bucket_view = true;
    return current.with(std::move(options));
  };
  const auto saved = [&](const Job& current) {
    return simulate_times(current).iteration - simulate_times(view(current)).iteration;
  };
  const Job recorded = job;
  const Job ahead = recorded.with(host_ahead(job.workload));
  REQUIRE(saved(recorded) > 10 * saved(ahead));
  const Gains gains(recorded, buckets_of(recorded), readings_of(std::nullopt));
  const WeighedGain gain = gains.of(view, {});
  CHECK(gain.gain.value == saved(ahead));
  CHECK(gain.expected < saved(recorded).scaled(0.1));
  CHECK(gain.gain.high >= saved(recorded));
}

TEST_CASE("host ahead: waiting for data is no wait for the host") {
  Workload workload = waiting().workload;
  workload.data_loading = DataLoading{.median = 1500_us,
                                      .p90 = 1500_us,
                                      .mean = 1500_us,
                                      .count = 9,
                                      .processes = false,
                                      .interval = {}};
  CHECK(waited_for_data(workload) == 1500_us);
  const Workload ahead = host_ahead(workload);
  CHECK(waited_for_data(ahead) == 1500_us);
  CHECK(ahead.iteration == 4_ms);
  CHECK(host_partly_ahead(workload, 1).backward->duration == workload.backward->duration);
}

TEST_CASE("host ahead: a measured step shortens a pause between steps, and leaves the kernels") {
  small::OpenJob job = waiting();
  job.workload.busy.reset();  // launches are unknown
  job.workload.iteration = 11_ms;
  const Job recorded = job;
  const Duration step = simulate_times(recorded).iteration;
  const std::optional<Job> real = without_profiler(recorded, step - 2_ms);
  REQUIRE(real);
  const StepTimes times = simulate_times(*real);
  CHECK(apart(times.iteration, step - 2_ms) < 1_us);
  CHECK(apart(times.pause, simulate_times(recorded).pause - 2_ms) < 1_us);
  CHECK(real->workload().backward->duration == job.workload.backward->duration);
}

TEST_CASE(
    "host ahead: a measured step shortens waits for workers if no wait for the host is left") {
  small::OpenJob job = waiting();
  job.workload.busy.reset();
  job.workload.iteration = 11_ms;
  job.workload.data_loading = DataLoading{.median = 20_ms,
                                          .p90 = 20_ms,
                                          .mean = 20_ms,
                                          .count = 9,
                                          .processes = true,
                                          .interval = 30_ms};
  const Job recorded = job;
  CHECK(simulate_times(recorded).iteration == 30_ms);
  const std::optional<Job> real = without_profiler(recorded, 15_ms);
  REQUIRE(real);
  const StepTimes times = simulate_times(*real);
  CHECK(apart(times.iteration, 15_ms) < 1_us);
  CHECK(times.backward == simulate_times(recorded).backward);
  CHECK(times.input < simulate_times(recorded).input);
}

TEST_CASE(
    "host ahead: launched at once, a host launches once; a profiler makes no launch cheaper") {
  Workload workload = waiting().workload;
  const auto cost = [](Duration each) {
    return PartTimes{.forward = each, .backward = each, .optimizer = each};
  };
  workload.launches = Launches{.forward = 800,
                               .backward = {300, 500, 0, 0},
                               .optimizer = 350,
                               .cost = cost(10_us),
                               .steps_ahead = {}};
  for (const Workload& of : {workload, host_ahead(workload)}) {
    CHECK(launched_at_once(of).launches->forward == 1);
    CHECK(launched_at_once(of).launches->of_backward() == 0);
    CHECK(launched_at_once(of).launches->optimizer == 350);
    CHECK(stepped_at_once(of).launches->optimizer == 1);
  }
  CHECK(host_ahead(workload).launches->cost == cost(10_us));
  workload.launches->cost = cost(104_us);
  CHECK_FALSE(host_ahead(workload).launches->cost);
}
