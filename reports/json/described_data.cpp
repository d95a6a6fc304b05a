#include "described_data.hpp"

#include <algorithm>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// In GB/s.
auto rate_of(std::optional<Bandwidth> DataLoader::*rate) {
  return [rate](const DataLoader& loader) {
    const auto& stated = loader.*rate;
    return stated ? std::optional(stated->gigabytes_per_second()) : std::nullopt;
  };
}

const Described<DataLoader>& described_loader() {
  static const auto described =
      Described<DataLoader>("DataLoaderOptions", "a DataLoader, as --data-loader describes it")
          .integer("num_workers", &DataLoader::num_workers,
                   "worker processes of each rank, as DataLoader takes it")
          .integer("prefetch_factor", &DataLoader::prefetch_factor,
                   "batches that each worker loads ahead, as DataLoader takes it")
          .boolean("pin_memory", &DataLoader::pin_memory,
                   "whether batches are pinned, as DataLoader takes it")
          .boolean("non_blocking", &DataLoader::non_blocking,
                   "whether the trainer copies batches to the GPU without waiting")
          .time("batch_us", &DataLoader::batch,
                "what a worker takes for a whole batch; null where the time of a sample is given, "
                "or none")
          .time(
              "sample_us", &DataLoader::sample,
              "what a worker takes for a sample; null where the time of a batch is given, or none")
          .integer("sample_bytes", &DataLoader::sample_bytes, "bytes that are read of a sample")
          .number("storage_gbps", rate_of(&DataLoader::storage),
                  "what storage gives, in GB/s; null: storage holds nobody up")
          .boolean("storage_shared", &DataLoader::storage_shared,
                   "whether storage_gbps is the rate of all nodes together, not of each")
          .integer("cores", &DataLoader::cores, "cores of a node; null: enough")
          .integer("batch_bytes", &DataLoader::batch_bytes,
                   "bytes of a batch that are copied to the GPU")
          .number("pcie_gbps", rate_of(&DataLoader::pcie),
                  "how fast a batch is copied to the GPU, in GB/s; null: not stated")
          .number(
              "pin_gbps", [](const DataLoader& of) { return of.pin.gigabytes_per_second(); },
              "how fast a batch is pinned, in GB/s")
          .time("worker_start_us", &DataLoader::worker_start, "what starting the workers takes")
          .integer(
              "steps_ahead", [](const DataLoader& of) { return of.steps_ahead.value_or(0); },
              "steps the host may run ahead of the GPU; 0: it waits for every step");
  return described;
}

const Described<DataLoading>& described_recorded_supply() {
  static const auto described =
      Described<DataLoading>("RecordedSupply", "what a recording tells of its batches")
          .time("recorded_median_us", &DataLoading::median,
                "how long the recorded trainer waited for a batch, in the median. Only of a "
                "recording")
          .time("recorded_p90_us", &DataLoading::p90,
                "how long the recorded trainer waited for a batch, the 90th percentile. Only of a "
                "recording")
          .time("recorded_mean_us", &DataLoading::mean,
                "the mean wait for a batch, the first left out. Only of a recording")
          .integer("recorded_steps", &DataLoading::count,
                   "how many waits for a batch were recorded. Only of a recording")
          .one_of(
              "recorded_in",
              [](const DataLoading& of) { return of.processes ? "workers" : "trainer"; },
              {"workers", "trainer"}, "who loaded the batches. Only of a recording");
  return described;
}

const Described<DataSupply>& described_simulated_supply() {
  static const auto described =
      Described<DataSupply>("SimulatedSupply", "what a described DataLoader gives")
          .object(
              "options", [](const DataSupply& of) -> const auto& { return of.loader; },
              described_loader(), "the DataLoader with every key in force. Only with --data-loader")
          .time("worker_batch_us", &DataSupply::worker_time,
                "what a batch takes a worker alone. Only with --data-loader")
          .number(
              "storage_demand_gbps",
              [](const DataSupply& of) {
                return of.storage_demand ? std::optional(of.storage_demand->gigabytes_per_second())
                                         : std::nullopt;
              },
              "what all ranks read, in GB/s, if no step waits for a batch; null where nothing "
              "is read. Only with --data-loader");
  return described;
}

const Described<JoinCollective>& described_join_collective() {
  static const auto described =
      Described<JoinCollective>("JoinCollective", "a collective of an iteration within Join",
                                Layout::line)
          .text(
              "kind", [](const JoinCollective& of) { return name_of(of.kind); },
              "which collective it is")
          .text("what", &JoinCollective::what, "what the collective is for")
          .text(
              "dtype", [](const JoinCollective& of) { return name_of(of.dtype); },
              "the type of the collective's elements")
          .integer("elements", &JoinCollective::elements,
                   "how many elements the collective carries")
          .integer(
              "bytes",
              [](const JoinCollective& of) { return of.elements * element_size(of.dtype); },
              "bytes that the collective carries")
          .text("op", unless_empty(&JoinCollective::op),
                "how elements are reduced; null: they are not")
          .boolean("of_join", &JoinCollective::of_join, "whether Join adds the collective")
          .boolean("host_waits", &JoinCollective::host_waits,
                   "whether the host waits for the collective");
  return described;
}

/// A batch in so long is what the loader gives; absent where it is not known.
std::optional<Duration> known_interval(const DataSupply& supply) {
  return supply.interval > Duration() ? std::optional(supply.interval) : std::nullopt;
}

/// What is known of a simulated loader alone.
template <typename Value>
auto simulated(Value DataSupply::*value) {
  return [value](const DataSupply& supply) {
    return supply.recorded ? std::nullopt : std::optional<Value>(supply.*value);
  };
}

}  // namespace

const Described<DataSupply>& described_data() {
  static const auto described =
      Described<DataSupply>("DataLoader", "where batches come from")
          .one_of(
              "from", [](const DataSupply& of) { return of.recorded ? "recording" : "options"; },
              {"options", "recording"}, "who says how batches come")
          .members_of(
              [](const DataSupply& of) -> const auto& { return of.recorded; },
              described_recorded_supply())
          .members_of([](const DataSupply& of) { return of.recorded ? nullptr : &of; },
                      described_simulated_supply())
          .integer("batches_per_step", &DataSupply::batches, "batches of a step: its micro-batches")
          .time("supply_interval_us", &known_interval,
                "how long the loader takes from one batch to the next, however fast steps are; "
                "null: not known")
          .number(
              "batches_per_second",
              [](const DataSupply& of) {
                const auto interval = known_interval(of);
                return interval ? std::optional(1 / interval->seconds()) : std::nullopt;
              },
              "batches that the loader gives in a second; null: not known")
          .time("step_without_us", &DataSupply::step_without, "the step with every batch there")
          .time("stall_us", &DataSupply::stall,
                "what the step waits for its batches and their copy; part of the step's stall")
          .time("wait_us", &DataSupply::wait, "the part of stall_us that waits for batches")
          .time("copy_us", &DataSupply::copy, "the part of stall_us that copies batches to the GPU")
          .word("cause", &DataSupply::cause, all_up_to(SupplyCause::recorded),
                "what holds the loader up")
          .integer("least_num_workers", &DataSupply::least_workers,
                   "fewest workers with which no step waits for a batch; null: no number suffices, "
                   "or the figures are of a recording")
          .time("first_wait_us", simulated(&DataSupply::first_wait),
                "what the first step of an epoch waits; null of a recording")
          .integer("warm_up_steps", simulated(&DataSupply::warm_up_steps),
                   "steps until an epoch has settled; null of a recording")
          .time("warm_up_extra_us", simulated(&DataSupply::warm_up_extra),
                "what the steps of warm_up_steps take beyond settled ones; null of a recording");
  return described;
}

const Described<Epoch>& described_epoch() {
  static const auto described =
      Described<Epoch>("Epoch", "an epoch")
          .integer(
              "dataset_size", [](const Epoch& of) { return of.set.size; },
              "samples of the data set, as asked")
          .boolean(
              "sampler_drop_last", [](const Epoch& of) { return of.set.sampler_drop_last; },
              "DistributedSampler's drop_last, as asked")
          .boolean(
              "loader_drop_last", [](const Epoch& of) { return of.set.loader_drop_last; },
              "DataLoader's drop_last, as asked")
          .integer(
              "samples_per_rank", [](const Epoch& of) { return of.sampled.per_rank; },
              "samples that DistributedSampler gives each rank")
          .integer(
              "repeated_samples", [](const Epoch& of) { return of.sampled.repeated; },
              "samples that DistributedSampler gives twice")
          .integer(
              "dropped_samples", [](const Epoch& of) { return of.sampled.dropped; },
              "samples that DistributedSampler gives to nobody")
          .integer(
              "dropped_by_loader", [](const Epoch& of) { return of.batched.dropped; },
              "samples of each rank that DataLoader drops")
          .integer("batch_per_gpu", &Epoch::batch, "samples of a full batch on one GPU")
          .integer(
              "full_batches", [](const Epoch& of) { return of.batched.full; },
              "full batches of each rank")
          .integer(
              "tail_batch", [](const Epoch& of) { return of.batched.tail; },
              "samples of each rank's last batch; 0: it is full")
          .integer("steps", &Epoch::steps, "optimizer steps of the epoch")
          .time("step_us", &Epoch::step, "a settled step of a full batch")
          .time("tail_step_us", &Epoch::tail_step,
                "the step of the last batch, its compute in proportion to its samples; null: the "
                "last batch is full")
          .time("warm_up_us", &Epoch::warm_up, "waits for the loader beyond those of settled steps")
          .time("epoch_us", &Epoch::time, "how long the epoch takes");
  return described;
}

const Described<JoinedEpoch>& described_join() {
  const auto of_join = [](const JoinedEpoch& of) {
    return std::ranges::count_if(of.iteration, &JoinCollective::of_join);
  };
  static const auto described =
      Described<JoinedEpoch>("Join", "an epoch of ranks with different numbers of batches")
          .boolean(
              "divide_by_initial_world_size",
              [](const JoinedEpoch& of) { return of.inputs.divide_by_initial_world_size; },
              "the argument of join() that has this name")
          .boolean(
              "throw_on_early_termination",
              [](const JoinedEpoch& of) { return of.inputs.throw_on_early_termination; },
              "the argument of join() that has this name")
          .integer(
              "least_inputs", [](const JoinedEpoch& of) { return of.inputs.least; },
              "batches of the rank with the fewest")
          .integer(
              "most_inputs", [](const JoinedEpoch& of) { return of.inputs.most; },
              "batches of the rank with the most")
          .integer(
              "total_inputs", [](const JoinedEpoch& of) { return of.inputs.total; },
              "batches of all ranks")
          .integer(
              "collectives_per_iteration",
              [](const JoinedEpoch& of) { return of.iteration.size(); },
              "collectives of an iteration")
          .integer("of_join_per_iteration", of_join, "collectives of an iteration that Join adds")
          .list("iteration", &JoinedEpoch::iteration, described_join_collective(),
                "collectives of an iteration of a rank that has inputs, in order")
          .list("joined_iteration", &JoinedEpoch::joined, described_join_collective(),
                "collectives of an iteration of a rank that has none left, in order")
          .list("end", &JoinedEpoch::end, described_join_collective(),
                "collectives behind the last input, or when all ranks raise, in order")
          .time("step_us", &JoinedEpoch::step, "a step within Join")
          .time("step_without_us", &JoinedEpoch::step_without, "a step outside of Join")
          .integer("iterations", &JoinedEpoch::iterations, "iterations of the epoch")
          .integer("tail_iterations", &JoinedEpoch::tail,
                   "iterations in which some ranks have joined")
          .integer("skipped_inputs", &JoinedEpoch::skipped,
                   "batches that are not trained on, since all ranks raise")
          .time("end_us", &JoinedEpoch::end_time, "how long the collectives of end take")
          .time("epoch_us", &JoinedEpoch::time, "how long the epoch takes");
  return described;
}

}  // namespace ddpsim
