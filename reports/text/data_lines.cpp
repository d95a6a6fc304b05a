#include "data_lines.hpp"

#include <fmt/format.h>

namespace ddpsim {
namespace {

void write_loader(JsonWriter& json, const DataLoader& loader) {
  json.key("options").begin_object();
  json.key("num_workers").integer(loader.num_workers);
  json.key("prefetch_factor").integer(loader.prefetch_factor);
  json.key("pin_memory").boolean(loader.pin_memory);
  json.key("non_blocking").boolean(loader.non_blocking);
  json.key("batch_us").time(loader.batch);
  json.key("sample_us").time(loader.sample);
  json.key("sample_bytes").integer(loader.sample_bytes.count());
  json.key("storage_gbps");
  loader.storage ? json.number(loader.storage->gigabytes_per_second()) : json.null();
  json.key("storage_shared").boolean(loader.storage_shared);
  json.key("cores");
  loader.cores ? json.integer(*loader.cores) : json.null();
  json.key("batch_bytes").integer(loader.batch_bytes.count());
  json.key("pcie_gbps");
  loader.pcie ? json.number(loader.pcie->gigabytes_per_second()) : json.null();
  json.key("pin_gbps").number(loader.pin.gigabytes_per_second());
  json.key("worker_start_us").time(loader.worker_start);
  json.key("steps_ahead").integer(loader.steps_ahead.value_or(0));
  json.end_object();
}

std::string who(const DataLoader& loader) {
  if (loader.num_workers == 0) return "The thread that trains loads";
  if (loader.num_workers == 1) return "1 worker of each rank gives";
  return fmt::format("{} workers of each rank give", loader.num_workers);
}

}  // namespace

std::string data_cause(const DataSupply& supply) {
  switch (supply.cause) {
    case SupplyCause::none:
    case SupplyCause::recorded:
    case SupplyCause::copy:
      break;
    case SupplyCause::workers:
      return supply.loader.num_workers == 0 ? ", which does so with the GPU idle (num_workers=0)"
                                            : ", all workers being busy";
    case SupplyCause::cores:
      return fmt::format(", the node's {} cores being busy", *supply.loader.cores);
    case SupplyCause::storage:
      return ", storage being busy";
    case SupplyCause::pin_memory:
      return ", the thread that pins being busy";
  }
  return "";
}

namespace {

/// Whose rate storage= was taken for, and what the whole job would read.
std::string storage_text(const DataSupply& supply) {
  if (!supply.loader.storage || !supply.storage_demand) return "";
  const double rate = supply.loader.storage->gigabytes_per_second();
  std::string text = fmt::format(" Storage gives {:.4g} GB/s to ", rate);
  if (supply.nodes == 1)
    text += "the node";
  else if (supply.loader.storage_shared)
    text += fmt::format("all {} nodes together", supply.nodes);
  else
    text += fmt::format("each of {} nodes, {:.4g} GB/s together (storage=RATE:shared: of all)",
                        supply.nodes, rate * supply.nodes);
  return text + fmt::format("; without waits the job reads {:.3g} GB/s.",
                            supply.storage_demand->gigabytes_per_second());
}

std::string simulated_line(const DataSupply& supply, int digits) {
  const auto time = [&](Duration duration) { return time_text(duration, digits); };
  std::string text =
      fmt::format("{} a batch every {}. ", who(supply.loader), time(supply.interval));
  if (supply.wait > Duration())
    text += fmt::format("With its batch there a step takes {}; it waits {} for it{}.",
                        time(supply.step_without), time(supply.wait), data_cause(supply));
  else
    text += fmt::format("A step takes {} and waits for none of them.", time(supply.step_without));
  text += storage_text(supply);
  if (supply.copy > Duration())
    text += fmt::format(
        " The copy to the GPU takes {} in front of it (pcie={:.3g}GBps, pin={:.3g}GBps).",
        time(supply.copy), supply.loader.pcie.value_or(kHostCopy).gigabytes_per_second(),
        supply.loader.pin.gigabytes_per_second());
  if (supply.least_workers)
    text += fmt::format(" The least num_workers that keeps up: {}.", *supply.least_workers);
  else
    text += " No num_workers keeps up.";
  if (supply.warm_up_steps > 0 && supply.warm_up_extra > Duration())
    text += fmt::format(" The first batch of an epoch comes after {}.", time(supply.first_wait));
  return text;
}

std::string recorded_line(const DataSupply& supply, int digits) {
  const DataLoading& seen = *supply.recorded;
  std::string text = fmt::format(
      "The recorded trainer waited {} a step for its DataLoader (mean of {}; median {})",
      time_text(seen.mean, digits), seen.count, time_text(seen.median, digits));
  if (!seen.processes) return text + ", loading by itself (num_workers=0): so it does here.";
  if (!supply.simulated)
    return text +
           ": its workers kept up, and give at least a batch a recorded step; how much more, "
           "nobody knows.";
  return text + fmt::format(": its workers give a batch every {}. Here a step of {} waits {}.",
                            time_text(supply.interval, digits),
                            time_text(supply.step_without, digits), time_text(supply.wait, digits));
}

}  // namespace

void write_data(JsonWriter& json, const DataSupply& supply) {
  json.key("data_loader").begin_object();
  json.key("from").string(supply.recorded ? "recording" : "options");
  if (supply.recorded) {
    json.key("recorded_median_us").time(supply.recorded->median);
    json.key("recorded_p90_us").time(supply.recorded->p90);
    json.key("recorded_mean_us").time(supply.recorded->mean);
    json.key("recorded_steps").integer(supply.recorded->count);
    json.key("recorded_in").string(supply.recorded->processes ? "workers" : "trainer");
  } else {
    write_loader(json, supply.loader);
    json.key("worker_batch_us").time(supply.worker_time);
    json.key("storage_demand_gbps");
    supply.storage_demand ? json.number(supply.storage_demand->gigabytes_per_second())
                          : json.null();
  }
  const bool known = supply.interval > Duration();
  json.key("batches_per_step").integer(supply.batches);
  json.key("supply_interval_us");
  known ? json.time(supply.interval) : json.null();
  json.key("batches_per_second");
  known ? json.number(1 / supply.interval.seconds()) : json.null();
  json.key("step_without_us").time(supply.step_without);
  json.key("stall_us").time(supply.stall());
  json.key("wait_us").time(supply.wait);
  json.key("copy_us").time(supply.copy);
  json.key("cause").string(name_of(supply.cause));
  json.key("least_num_workers");
  supply.least_workers ? json.integer(*supply.least_workers) : json.null();
  json.key("first_wait_us").time(supply.first_wait);
  json.key("warm_up_steps").integer(supply.warm_up_steps);
  json.key("warm_up_extra_us").time(supply.warm_up_extra);
  json.end_object();
}

std::string data_lines(const DataSupply& supply, int digits, const TerminalStyle& style) {
  return wrapped(supply.recorded ? recorded_line(supply, digits) : simulated_line(supply, digits),
                 style.width, kIndent);
}

}  // namespace ddpsim
