#include "data_lines.hpp"

#include <fmt/format.h>

namespace ddpsim {
namespace {

std::string who(const DataLoader& loader) {
  if (loader.num_workers == 0) return "The training thread loads";
  if (loader.num_workers == 1) return "1 worker of each rank delivers";
  return fmt::format("{} workers of each rank deliver", loader.num_workers);
}

}  // namespace

std::string data_cause(const DataSupply& supply) {
  switch (supply.cause) {
    case SupplyCause::none:
    case SupplyCause::recorded:
    case SupplyCause::copy:
      break;
    case SupplyCause::workers:
      return supply.loader.num_workers == 0
                 ? ", since it is loaded while the GPU is idle (num_workers=0)"
                 : ", since all workers are busy";
    case SupplyCause::cores:
      return fmt::format(", since the node's {} cores are busy", *supply.loader.cores);
    case SupplyCause::storage:
      return ", since storage is busy";
    case SupplyCause::pin_memory:
      return ", since the thread that pins memory is busy";
  }
  return "";
}

namespace {

/// What the rate of storage= covers (a node or all of them), and how fast the job would read
/// without waits.
std::string storage_text(const DataSupply& supply) {
  if (!supply.loader.storage || !supply.storage_demand) return "";
  const double rate = supply.loader.storage->gigabytes_per_second();
  std::string text = fmt::format(" Storage gives {:.4g} GB/s to ", rate);
  if (supply.nodes == 1)
    text += "the node";
  else if (supply.loader.storage_shared)
    text += fmt::format("all {} nodes together", supply.nodes);
  else
    text +=
        fmt::format("each of {} nodes, {:.4g} GB/s together (storage=RATE:shared if they share it)",
                    supply.nodes, rate * supply.nodes);
  return text + fmt::format("; without waits the job reads {:.3g} GB/s.",
                            supply.storage_demand->gigabytes_per_second());
}

std::string simulated_line(const DataSupply& supply, int digits) {
  const auto time = [&](Duration duration) { return time_text(duration, digits); };
  std::string text =
      fmt::format("{} a batch every {}. ", who(supply.loader), time(supply.interval));
  if (supply.wait > Duration())
    text += fmt::format("With its batch ready a step takes {}; it waits {} for the batch{}.",
                        time(supply.step_without), time(supply.wait), data_cause(supply));
  else
    text += fmt::format("A step takes {} and never waits for a batch.", time(supply.step_without));
  text += storage_text(supply);
  if (supply.copy > Duration())
    text += fmt::format(
        " The copy to the GPU adds {} to the step (pcie={:.3g}GBps, pin={:.3g}GBps).",
        time(supply.copy), supply.loader.pcie.value_or(kHostCopy).gigabytes_per_second(),
        supply.loader.pin.gigabytes_per_second());
  if (supply.least_workers)
    text += fmt::format(" The smallest num_workers that keeps up: {}.", *supply.least_workers);
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
  if (!seen.processes)
    return text + ". It loads its batches itself (num_workers=0), and so does this simulation.";
  if (!supply.simulated)
    return text +
           ". Its workers kept up: they deliver at least one batch per recorded step, perhaps "
           "more.";
  return text + fmt::format(". Its workers deliver a batch every {}. Here a step of {} waits {}.",
                            time_text(supply.interval, digits),
                            time_text(supply.step_without, digits), time_text(supply.wait, digits));
}

}  // namespace

std::string data_lines(const DataSupply& supply, int digits, const TerminalStyle& style) {
  return wrapped(supply.recorded ? recorded_line(supply, digits) : simulated_line(supply, digits),
                 style.width, kIndent);
}

}  // namespace ddpsim
