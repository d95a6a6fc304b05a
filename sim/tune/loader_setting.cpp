#include "loader_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

namespace ddpsim {
namespace {

/// A single worker keeps up on average, but is late whenever a batch takes longer.
constexpr int kFewestWorkers = 2;

Job with_loader(const Job& job, const DataLoader& loader) {
  SimulationOptions options = job.options();
  options.data_loader = loader;
  return job.with(std::move(options));
}

Setting setting_from(std::string name, const std::string& arguments, DataLoader loader,
                     std::string note) {
  return {.name = std::move(name),
          .change = [loader](const Job& job) { return with_loader(job, loader); },
          .after = fmt::format("# DataLoader(..., {})", arguments),
          .note = std::move(note),
          .loads_data = true,
          .by_hand = "the DataLoader of your script"};
}

Setting with_workers(DataLoader loader, int workers) {
  loader.num_workers = workers;
  const std::string argument = fmt::format("num_workers={}", workers);
  return setting_from(fmt::format("DataLoader({})", argument),
                      argument + ", persistent_workers=True", loader,
                      fmt::format("each rank needs {} idle CPU cores, one per worker", workers));
}

/// Multiplies the number of workers that gave a batch every `interval`. The recording does not tell
/// how many there were.
Setting times_the_workers(const DataLoader& loader, Duration interval, Duration step) {
  const double times = std::ceil(10 * (interval / step)) / 10;
  return setting_from(fmt::format("DataLoader(num_workers={} times today's)", times),
                      fmt::format("num_workers={} times today's", times), loader,
                      "more workers need idle cores; if there are none, make decoding cheaper");
}

/// Judges by the time of each batch if the trainer loads it, or by the interval between batches if
/// workers do.
std::optional<Setting> setting_of_recorded(const Job& job, Duration step,
                                           std::optional<Duration> host) {
  const DataLoading& seen = *recorded_by(job.workload(), 0).data_loading;
  if (seen.processes && !seen.interval) return std::nullopt;  // they kept up
  DataLoader loader{.num_workers = 1, .batch = seen.interval.value_or(seen.p90)};
  const std::optional<DataSupply> supply = data_supply(with_loader(job, loader), step, host);
  if (!supply->least_workers) return std::nullopt;
  if (!seen.processes) {
    loader.batch = seen.median;
    Setting setting = with_workers(loader, std::max(kFewestWorkers, *supply->least_workers));
    setting.may_save = seen.median * supply->batches;
    return setting;
  }
  loader.num_workers = *supply->least_workers;
  return times_the_workers(loader, *seen.interval,
                           Duration::picoseconds(step.picoseconds() / supply->batches));
}

/// The most workers of use if no number keeps up with the step. More would not wait less, because
/// storage, cores or the pinning thread are at their limit.
int most_of_use(const Job& job, DataLoader loader, const DataSupply& current, Duration step,
                std::optional<Duration> host) {
  constexpr int kMany = 512;
  const int cores =
      loader.cores ? static_cast<int>(*loader.cores / job.cluster().gpus_per_host()) : kMany;
  loader.num_workers = std::max(1, std::min(kMany, cores));
  const Duration least = data_supply(with_loader(job, loader), step, host)->interval;
  if (least <= Duration()) return loader.num_workers;
  return std::min(loader.num_workers, static_cast<int>(std::ceil(current.worker_time / least)));
}

std::optional<Setting> setting_of_asked(const Job& job, Duration step,
                                        std::optional<Duration> host) {
  const DataSupply supply = *data_supply(job, step, host);
  DataLoader loader = *job.options().data_loader;
  if (supply.cause == SupplyCause::workers && supply.least_workers)
    return with_workers(loader, *supply.least_workers);
  if (supply.cause == SupplyCause::workers)
    if (const int most = most_of_use(job, loader, supply, step, host); most > loader.num_workers)
      return with_workers(loader, most);
  const bool beside = loader.pin_memory && loader.non_blocking;
  if (supply.cause != SupplyCause::copy || beside) return std::nullopt;
  loader.pin_memory = loader.non_blocking = true;
  return setting_from("DataLoader(pin_memory=True)",
                      "pin_memory=True), and batch.to(device, non_blocking=True", loader,
                      "a thread of each rank pins batches");
}

}  // namespace

std::optional<Setting> loader_setting(const Job& job) {
  const StepTimes times = simulate_times(job);
  if (times.input <= Duration()) return std::nullopt;
  const Duration step = times.iteration - times.input;
  return job.options().data_loader ? setting_of_asked(job, step, times.host)
                                   : setting_of_recorded(job, step, times.host);
}

}  // namespace ddpsim
