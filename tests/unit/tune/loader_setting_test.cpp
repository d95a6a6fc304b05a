// What is recommended if batches come late, with the step of paper_step.hpp: 360 us if every batch
// is ready.
#include "loader_setting.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

#include "ddpsim/sim/tune/advise.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

Workload waiting(DataLoading loading) {
  Workload step = workload();
  step.iteration = 450_us;  // a pause of 120
  step.data_loading = loading;
  return step;
}

DataLoading by_trainer(Duration median, Duration p90) {
  return {
      .median = median, .p90 = p90, .mean = median, .count = 9, .processes = false, .interval = {}};
}

Job job_of(const Workload& step, SimulationOptions options = free_of_costs()) {
  return Job(step, gpus(), std::move(options), wire());
}

SimulationOptions with_loader(DataLoader loader) {
  SimulationOptions options = free_of_costs();
  options.data_loader = std::move(loader);
  return options;
}

Duration step_after(const Job& job, const Setting& setting) {
  return simulate_times(setting.change(job)).iteration;
}

}  // namespace

TEST_CASE("loader setting: workers if the training thread loads") {
  const Job job = job_of(waiting(by_trainer(100_us, 110_us)));
  const auto setting = loader_setting(job);
  REQUIRE(setting);
  CHECK(setting->name == "DataLoader(num_workers=2)");
  CHECK(setting->may_save == 100_us);
  CHECK(simulate_times(job).iteration == 480_us);
  // 20 us of the pause were no wait for data.
  CHECK(step_after(job, *setting) == 380_us);
  // Judged by the time of slow batches: 3 times 380 are 1140.
  const auto more = loader_setting(job_of(waiting(by_trainer(100_us, 1100_us))));
  REQUIRE(more);
  CHECK(more->name == "DataLoader(num_workers=3)");
}

TEST_CASE("loader setting: more workers if they are too slow") {
  DataLoading loading = by_trainer(100_us, 100_us);
  loading.processes = true;
  CHECK_FALSE(loader_setting(job_of(waiting(loading))));  // they kept up
  loading.interval = 900_us;
  const Job job = job_of(waiting(loading));
  const auto setting = loader_setting(job);
  REQUIRE(setting);
  CHECK(setting->name == "DataLoader(num_workers=2.4 times today's)");  // 900 over 380
  CHECK(simulate_times(job).iteration == 900_us);
  CHECK(step_after(job, *setting) == 380_us);
}

// Two ranks read 1 MB each at 4 GB/s: a batch every 500 us at best, while a step takes less. A
// worker takes 2 ms.
TEST_CASE("loader setting: as many workers as storage can feed, if no number keeps up") {
  DataLoader loader{.num_workers = 1, .sample = 1500_us};
  loader.sample_bytes = Bytes(1'000'000);
  loader.storage = Bandwidth::bytes_per_second(4e9);
  loader.storage_shared = true;
  const Job job = job_of(workload(), with_loader(loader));
  CHECK(simulate_times(job).iteration == 2000_us);
  const auto setting = loader_setting(job);
  REQUIRE(setting);
  CHECK(setting->name == "DataLoader(num_workers=4)");
  CHECK(step_after(job, *setting) == 500_us);
}

TEST_CASE("loader setting: what a requested loader lacks") {
  const auto name_for = [](DataLoader loader) {
    const auto setting = loader_setting(job_of(workload(), with_loader(std::move(loader))));
    return setting ? setting->name : "";
  };
  CHECK(name_for({.num_workers = 2, .batch = 900_us}) == "DataLoader(num_workers=3)");
  CHECK(name_for({.num_workers = 3, .batch = 900_us}).empty());
  CHECK(name_for({.num_workers = 2, .batch = 900_us, .cores = 1}).empty());
  const DataLoader copied = {.num_workers = 1, .batch = 10_us, .batch_bytes = Bytes(1'000'000)};
  CHECK(name_for(copied) == "DataLoader(pin_memory=True)");
  CHECK_FALSE(loader_setting(job_of(workload())));
}

TEST_CASE("advise: a loader comes first if it causes most waits, and saves those") {
  const Job job = job_of(waiting(by_trainer(100_us, 110_us)));
  const Advice advice = advise(job, {});
  const AdviceRow* row = advice.find("DataLoader(num_workers=2)");
  REQUIRE(row);
  CHECK(row->worth);
  CHECK(row->loads_data);
  CHECK(row->gain.value == 100_us);
  CHECK(row->line == "# DataLoader(..., num_workers=2, persistent_workers=True)");
  REQUIRE(advice.best());
  CHECK(advice.best()->settings.front() == row->settings.front());
  const auto setting = best_setting(job, {});
  REQUIRE(setting);
  CHECK(setting->loads_data);
}

TEST_CASE("loader setting: as many workers as cores, if no number keeps up") {
  DataLoader loader{.num_workers = 1, .batch = 3000_us};  // nine would keep up
  CHECK(loader_setting(job_of(workload(), with_loader(loader))).value().name ==
        "DataLoader(num_workers=9)");
  loader.cores = 4 * gpus().gpus_per_host();
  const auto setting = loader_setting(job_of(workload(), with_loader(loader)));
  REQUIRE(setting);
  CHECK(setting->name == "DataLoader(num_workers=4)");
  loader.num_workers = 4;
  CHECK_FALSE(loader_setting(job_of(workload(), with_loader(loader))));
}
