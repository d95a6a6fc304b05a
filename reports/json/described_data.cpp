#include "described_data.hpp"

#include <algorithm>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// Reads a rate in GB/s.
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
                "time that a worker needs for a whole batch; null if sample_us or no time is given")
          .time("sample_us", &DataLoader::sample,
                "time that a worker needs for a sample; null if batch_us or no time is given")
          .integer("sample_bytes", &DataLoader::sample_bytes, "bytes read per sample")
          .number("storage_gbps", rate_of(&DataLoader::storage),
                  "read rate of the storage, in GB/s; null if it is not a limit")
          .boolean("storage_shared", &DataLoader::storage_shared,
                   "whether all nodes share storage_gbps; if false, each node has that rate")
          .integer("cores", &DataLoader::cores, "CPU cores of a node; null if they are not a limit")
          .integer("batch_bytes", &DataLoader::batch_bytes,
                   "bytes of a batch that are copied to the GPU")
          .number("pcie_gbps", rate_of(&DataLoader::pcie),
                  "rate at which a batch is copied to the GPU, in GB/s; null if not given")
          .number(
              "pin_gbps", [](const DataLoader& of) { return of.pin.gigabytes_per_second(); },
              "rate at which a batch is pinned, in GB/s")
          .time("worker_start_us", &DataLoader::worker_start, "time to start the workers")
          .integer(
              "steps_ahead", [](const DataLoader& of) { return of.steps_ahead.value_or(0); },
              "steps that the host may run ahead of the GPU; 0 if it waits for every step");
  return described;
}

const Described<DataLoading>& described_recorded_supply() {
  static const auto described =
      Described<DataLoading>("RecordedSupply", "what a recording tells of its batches")
          .time("recorded_median_us", &DataLoading::median,
                "median time that the recorded trainer waited for a batch. Only for a recording")
          .time("recorded_p90_us", &DataLoading::p90,
                "90th percentile of the time that the recorded trainer waited for a batch. Only "
                "for a recording")
          .time("recorded_mean_us", &DataLoading::mean,
                "mean time that the recorded trainer waited for a batch, without the first one. "
                "Only for a recording")
          .integer("recorded_steps", &DataLoading::count,
                   "how many waits for a batch were recorded. Only for a recording")
          .one_of(
              "recorded_in",
              [](const DataLoading& of) { return of.processes ? "workers" : "trainer"; },
              {"workers", "trainer"},
              "whether worker processes or the trainer itself loaded the batches. Only for a "
              "recording");
  return described;
}

const Described<DataSupply>& described_simulated_supply() {
  static const auto described =
      Described<DataSupply>("SimulatedSupply",
                            "what a DataLoader described by --data-loader delivers")
          .object(
              "options", [](const DataSupply& of) -> const auto& { return of.loader; },
              described_loader(),
              "the DataLoader with the values of all keys. Only with --data-loader")
          .time("worker_batch_us", &DataSupply::worker_time,
                "time that a worker alone needs for a batch. Only with --data-loader")
          .number(
              "storage_demand_gbps",
              [](const DataSupply& of) {
                return of.storage_demand ? std::optional(of.storage_demand->gigabytes_per_second())
                                         : std::nullopt;
              },
              "rate at which all ranks read if no step waits for a batch, in GB/s; null if nothing "
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
                "how elements are reduced; null if they are not reduced")
          .boolean("of_join", &JoinCollective::of_join, "whether Join adds the collective")
          .boolean("host_waits", &JoinCollective::host_waits,
                   "whether the host waits for the collective");
  return described;
}

/// Time from one batch of the loader to the next; absent if not known.
std::optional<Duration> known_interval(const DataSupply& supply) {
  return supply.interval > Duration() ? std::optional(supply.interval) : std::nullopt;
}

/// Reads a value that only a simulated loader has.
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
              {"options", "recording"},
              "whether --data-loader or a recording describes the batches")
          .members_of(
              [](const DataSupply& of) -> const auto& { return of.recorded; },
              described_recorded_supply())
          .members_of([](const DataSupply& of) { return of.recorded ? nullptr : &of; },
                      described_simulated_supply())
          .integer("batches_per_step", &DataSupply::batches,
                   "batches per step, that is, its micro-batches")
          .time("supply_interval_us", &known_interval,
                "time from one batch of the loader to the next, independent of the steps; null if "
                "not known")
          .number(
              "batches_per_second",
              [](const DataSupply& of) {
                const auto interval = known_interval(of);
                return interval ? std::optional(1 / interval->seconds()) : std::nullopt;
              },
              "batches per second that the loader can deliver; null if not known")
          .time("step_without_us", &DataSupply::step_without,
                "time of the step if every batch is ready")
          .time("stall_us", &DataSupply::stall,
                "time that the step waits for its batches and their copy; part of the step's stall")
          .time("wait_us", &DataSupply::wait, "the part of stall_us that waits for batches")
          .time("copy_us", &DataSupply::copy, "the part of stall_us that copies batches to the GPU")
          .word("cause", &DataSupply::cause, all_up_to(SupplyCause::recorded),
                "what limits the loader")
          .integer("least_num_workers", &DataSupply::least_workers,
                   "smallest number of workers with which no step waits for a batch; null if no "
                   "number is enough, or for a recording")
          .time("first_wait_us", simulated(&DataSupply::first_wait),
                "time that the first step of an epoch waits; null for a recording")
          .integer("warm_up_steps", simulated(&DataSupply::warm_up_steps),
                   "steps until step times have settled; null for a recording")
          .time("warm_up_extra_us", simulated(&DataSupply::warm_up_extra),
                "extra time of the first warm_up_steps steps compared with settled ones; null for "
                "a recording");
  return described;
}

const Described<Epoch>& described_epoch() {
  static const auto described =
      Described<Epoch>("Epoch", "an epoch of training")
          .integer(
              "dataset_size", [](const Epoch& of) { return of.set.size; },
              "samples of the data set, as given")
          .boolean(
              "sampler_drop_last", [](const Epoch& of) { return of.set.sampler_drop_last; },
              "DistributedSampler's drop_last, as given")
          .boolean(
              "loader_drop_last", [](const Epoch& of) { return of.set.loader_drop_last; },
              "DataLoader's drop_last, as given")
          .integer(
              "samples_per_rank", [](const Epoch& of) { return of.sampled.per_rank; },
              "samples that DistributedSampler gives each rank")
          .integer(
              "repeated_samples", [](const Epoch& of) { return of.sampled.repeated; },
              "samples that DistributedSampler gives twice")
          .integer(
              "dropped_samples", [](const Epoch& of) { return of.sampled.dropped; },
              "samples that DistributedSampler drops")
          .integer(
              "dropped_by_loader", [](const Epoch& of) { return of.batched.dropped; },
              "samples of each rank that DataLoader drops")
          .integer("batch_per_gpu", &Epoch::batch, "samples of a full batch on one GPU")
          .integer(
              "full_batches", [](const Epoch& of) { return of.batched.full; },
              "full batches of each rank")
          .integer(
              "tail_batch", [](const Epoch& of) { return of.batched.tail; },
              "samples of each rank's last batch; 0 if it is full")
          .integer("steps", &Epoch::steps, "optimizer steps of the epoch")
          .time("step_us", &Epoch::step, "time of a settled step with a full batch")
          .time("tail_step_us", &Epoch::tail_step,
                "time of the step with the last batch, with compute in proportion to its samples; "
                "null if that batch is full")
          .time("warm_up_us", &Epoch::warm_up,
                "extra waits for the loader compared with settled steps")
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
              "join()'s argument of this name")
          .boolean(
              "throw_on_early_termination",
              [](const JoinedEpoch& of) { return of.inputs.throw_on_early_termination; },
              "join()'s argument of this name")
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
              "collectives of one iteration")
          .integer("of_join_per_iteration", of_join, "collectives that Join adds to one iteration")
          .list("iteration", &JoinedEpoch::iteration, described_join_collective(),
                "collectives of one iteration on a rank that has inputs, in order")
          .list("joined_iteration", &JoinedEpoch::joined, described_join_collective(),
                "collectives of one iteration on a rank without inputs, in order")
          .list("end", &JoinedEpoch::end, described_join_collective(),
                "collectives after the last input, or when all ranks raise an error, in order")
          .time("step_us", &JoinedEpoch::step, "time of a step within Join")
          .time("step_without_us", &JoinedEpoch::step_without, "time of a step outside Join")
          .integer("iterations", &JoinedEpoch::iterations, "iterations of the epoch")
          .integer("tail_iterations", &JoinedEpoch::tail,
                   "iterations in which some ranks have no inputs left")
          .integer("skipped_inputs", &JoinedEpoch::skipped,
                   "batches that are not trained on because all ranks raise an error")
          .time("end_us", &JoinedEpoch::end_time, "how long the collectives of end take")
          .time("epoch_us", &JoinedEpoch::time, "how long the epoch takes");
  return described;
}

}  // namespace ddpsim
