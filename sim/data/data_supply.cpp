#include "ddpsim/sim/data/data_supply.hpp"

#include <algorithm>

#include "data_feed.hpp"
#include "supply_chain.hpp"

namespace ddpsim {
namespace {

constexpr int kMostWorkers = 512;

bool bound_by_workers(const Recorded& recorded) {
  return recorded.data_loading && recorded.data_loading->interval;
}

/// Ranks that read from one storage at the same time.
std::int64_t readers_of_storage(const DataLoader& loader, const Cluster& cluster) {
  return loader.storage_shared ? cluster.ranks() : cluster.gpus_per_host();
}

/// Settings of one rank's chain. All ranks do the same, unless `shared` says that the GPU works by
/// itself.
SupplySetting setting_of(const Job& job, const DataLoader& loader,
                         std::optional<Duration> host_step,
                         SharedWith shared = SharedWith::all_ranks) {
  const bool by_itself = shared == SharedWith::nobody;
  const std::int64_t ranks = by_itself ? 1 : job.cluster().gpus_per_host();
  const std::int64_t readers = by_itself ? 1 : readers_of_storage(loader, job.cluster());
  const std::int64_t samples = job.workload().batch_per_gpu.value_or(1);
  SupplySetting setting{.workers = loader.num_workers, .prefetch = loader.prefetch_factor};
  if (loader.storage) setting.read = loader.sample_bytes * (samples * readers) / *loader.storage;
  setting.decode = loader.batch.value_or(Duration());
  if (loader.sample) setting.decode = *loader.sample * samples;
  if (loader.cores) setting.cores = {.of_node = *loader.cores, .ranks = ranks};
  if (loader.pin_memory) setting.pin = loader.batch_bytes / loader.pin;
  Bandwidth copies = loader.pcie.value_or(kHostCopy);
  if (!loader.pin_memory) copies = std::min(copies, loader.pin);  // staged by the driver
  setting.copy = loader.batch_bytes / copies;
  setting.blocking_copy = !loader.pin_memory || !loader.non_blocking;
  setting.worker_start = loader.worker_start;
  const auto& launches = job.workload().launches;
  setting.steps_ahead =
      loader.steps_ahead.value_or(launches && launches->steps_ahead ? *launches->steps_ahead : 0);
  setting.host_step = host_step.value_or(Duration());
  return setting;
}

/// Divides a step's time by its micro-batches.
Duration of_a_batch(Duration step, int batches) {
  return Duration::picoseconds(step.picoseconds() / batches);
}

/// Time per batch of the loader if neither step nor copy limits it.
Duration interval_of(SupplySetting setting) {
  setting.copy = Duration();
  setting.steps_ahead = 0;
  return steady_stall(setting, Duration()).wait;
}

/// The slowest of the stages that a batch passes.
SupplyCause slowest(const SupplySetting& setting) {
  if (setting.workers == 0) {
    const Duration pin = setting.pin.value_or(Duration());
    if (setting.read > std::max(setting.decode, pin)) return SupplyCause::storage;
    return pin > setting.decode ? SupplyCause::pin_memory : SupplyCause::workers;
  }
  SupplyCause cause = SupplyCause::workers;
  Duration longest = of_a_batch(setting.read + setting.decode, setting.workers);
  const auto weigh = [&](Duration interval, SupplyCause other) {
    if (interval <= longest) return;
    longest = interval;
    cause = other;
  };
  if (setting.cores)
    weigh(
        of_a_batch(setting.decode * setting.cores->ranks, static_cast<int>(setting.cores->of_node)),
        SupplyCause::cores);
  weigh(setting.read, SupplyCause::storage);
  // A single worker that spends most of its time reading.
  if (setting.read > setting.decode && cause == SupplyCause::workers) cause = SupplyCause::storage;
  weigh(setting.pin.value_or(Duration()), SupplyCause::pin_memory);
  return cause;
}

std::optional<int> least_workers(const SupplySetting& setting, Duration step) {
  const Duration load = setting.read + setting.decode;
  const Duration beside = step + setting.copy;
  if (setting.pin.value_or(Duration()) > beside) return std::nullopt;
  std::int64_t workers = 1;
  if (beside > Duration() && load > beside) workers = load.picoseconds() / beside.picoseconds();
  for (; workers <= kMostWorkers; ++workers) {
    SupplySetting other = setting;
    other.workers = static_cast<int>(workers);
    if (steady_stall(other, step).wait == Duration()) return other.workers;
    // More workers do not speed up storage and cores, which all of them share.
    if (workers > 4 && interval_of(other) > beside) {
      const Duration cores = setting.cores ? of_a_batch(setting.decode * setting.cores->ranks,
                                                        static_cast<int>(setting.cores->of_node))
                                           : Duration();
      if (std::max(setting.read, cores) > beside) return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Read rate of all ranks together if a step takes `step`. Absent if nothing is read.
std::optional<Bandwidth> storage_demand(const Job& job, const DataLoader& loader, Duration step) {
  if (!loader.storage || step <= Duration()) return std::nullopt;
  const double samples = static_cast<double>(job.workload().batch_per_gpu.value_or(1)) *
                         job.options().accumulate * job.cluster().ranks();
  return Bandwidth::bytes_per_second(static_cast<double>(loader.sample_bytes.count()) * samples /
                                     step.seconds());
}

/// Simulates rounds of workers until all further ones wait equally long. Notes how much longer the
/// first ones wait.
void note_warm_up(const SupplySetting& setting, Duration step, DataSupply& supply) {
  SupplyChain chain(setting);
  const int round = std::max(setting.workers, 1) * supply.batches;
  const int rounds = 4 * setting.prefetch + 4;
  const Duration steady = of_a_batch(supply.wait, supply.batches) * round;
  const Duration exact = Duration::picoseconds(16) * round;
  Duration extra;
  for (int k = 0; k < rounds; ++k) {
    Duration waited;
    for (int batch = 0; batch < round; ++batch) {
      const Duration wait = chain.next(step).wait;
      if (k == 0 && batch < supply.batches) supply.first_wait += wait;
      waited += wait;
    }
    extra += waited - steady;
    if (std::max(waited - steady, steady - waited) <= exact) continue;
    supply.warm_up_steps = (k + 1) * round / supply.batches;
    supply.warm_up_extra = extra;
  }
}

DataSupply recorded_supply(const Job& job, Duration step) {
  const Recorded& recorded = recorded_by(job.workload(), 0);
  DataSupply supply;
  supply.batches = job.options().accumulate;
  supply.step_without = step;
  supply.cause = SupplyCause::recorded;
  supply.recorded = recorded.data_loading;
  if (!bound_by_workers(recorded)) {
    supply.wait = waited_for_data(recorded) * supply.batches;
    if (supply.wait == Duration()) supply.cause = SupplyCause::none;
    if (!recorded.data_loading->processes) supply.interval = recorded.data_loading->median;
    return supply;
  }
  supply.simulated = true;
  supply.interval = *recorded.data_loading->interval;
  supply.wait = std::max(supply.interval * supply.batches - step, Duration());
  if (supply.wait == Duration()) supply.cause = SupplyCause::none;
  return supply;
}

}  // namespace

double seconds_of_a_batch(const DataLoader& loader, double samples, const Cluster& cluster) {
  double seconds = loader.batch.value_or(Duration()).seconds();
  if (loader.sample) seconds += loader.sample->seconds() * samples;
  if (loader.storage)
    seconds += static_cast<double>(loader.sample_bytes.count()) * samples *
               static_cast<double>(readers_of_storage(loader, cluster)) /
               loader.storage->bytes_per_second();
  return seconds + static_cast<double>(loader.batch_bytes.count()) / loader.pin.bytes_per_second();
}

Duration replaced_pause(const Job& job, const Recorded& recorded) {
  const bool simulated = job.options().data_loader.has_value() || bound_by_workers(recorded);
  return simulated ? waited_for_data(recorded) : Duration();
}

SupplyStall supply_stall(const Job& job, Duration step, std::optional<Duration> host_step,
                         SharedWith shared) {
  const auto& loader = job.options().data_loader;
  const int batches = job.options().accumulate;
  if (!loader) {
    if (!bound_by_workers(recorded_by(job.workload(), 0))) return {};
    return {.wait = recorded_supply(job, step).wait, .copy = Duration()};
  }
  const SupplyChain::Stall each =
      steady_stall(setting_of(job, *loader, host_step, shared), of_a_batch(step, batches));
  return {.wait = each.wait * batches, .copy = each.copy * batches};
}

std::optional<DataSupply> data_supply(const Job& job, Duration step,
                                      std::optional<Duration> host_step) {
  const auto& loader = job.options().data_loader;
  if (!loader) {
    if (!recorded_by(job.workload(), 0).data_loading) return std::nullopt;
    return recorded_supply(job, step);
  }
  DataSupply supply;
  supply.simulated = true;
  supply.loader = *loader;
  supply.loader.pcie = loader->pcie.value_or(kHostCopy);
  supply.batches = job.options().accumulate;
  const SupplySetting setting = setting_of(job, *loader, host_step);
  supply.loader.steps_ahead = setting.steps_ahead;
  supply.worker_time = setting.read + setting.decode;
  supply.interval = interval_of(setting);
  supply.step_without = step;
  supply.nodes = job.cluster().hosts();
  supply.storage_demand = storage_demand(job, *loader, step + setting.copy * supply.batches);
  const SupplyStall stall = supply_stall(job, step, host_step);
  supply.wait = stall.wait;
  supply.copy = stall.copy;
  const Duration each = of_a_batch(step, supply.batches);
  if (supply.wait > Duration())
    supply.cause = slowest(setting);
  else if (supply.copy > Duration())
    supply.cause = SupplyCause::copy;
  supply.least_workers = least_workers(setting, each);
  note_warm_up(setting, each, supply);
  return supply;
}

DataFeed::DataFeed(const Job& job) : job_(job) {}

SupplyStall DataFeed::next(Duration step, std::optional<Duration> host_step) {
  const auto& loader = job_.options().data_loader;
  if (!loader) return supply_stall(job_, step, host_step);
  if (!chain_) chain_.emplace(setting_of(job_, *loader, host_step));
  const int batches = job_.options().accumulate;
  SupplyStall stall;
  for (int batch = 0; batch < batches; ++batch) {
    const SupplyChain::Stall one = chain_->next(of_a_batch(step, batches));
    stall.wait += one.wait;
    stall.copy += one.copy;
  }
  return stall;
}

Duration wait_of_epoch(const Job& job, const DataSupply& supply, std::int64_t steps,
                       std::optional<Duration> host_step) {
  if (!job.options().data_loader) return Duration();
  // Whole rounds between the first and the last one wait as long as steady ones.
  const std::int64_t round = std::max(supply.loader.num_workers, 1);
  const std::int64_t first = (supply.warm_up_steps + round - 1) / round * round;
  const std::int64_t simulated = steps > first ? first + (steps - first) % round : steps;
  DataFeed feed(job);
  Duration waited;
  for (std::int64_t i = 0; i < simulated; ++i)
    waited += feed.next(supply.step_without, host_step).wait;
  return waited - supply.wait * simulated;
}

}  // namespace ddpsim
