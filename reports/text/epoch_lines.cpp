#include "epoch_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {
namespace {

void write_collectives(JsonWriter& json, const char* key,
                       const std::vector<JoinCollective>& collectives) {
  json.key(key).begin_array();
  for (const JoinCollective& one : collectives) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("kind").string(name_of(one.kind));
    json.key("what").string(one.what);
    json.key("dtype").string(name_of(one.dtype));
    json.key("elements").integer(one.elements);
    json.key("bytes").integer(one.elements * element_size(one.dtype));
    json.key("op").string_or_null(one.op);
    json.key("of_join").boolean(one.of_join);
    json.key("host_waits").boolean(one.host_waits);
    json.end_object();
  }
  json.end_array();
}

std::string how_many(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Of many steps.
std::string long_time(Duration time, int digits) {
  const double seconds = time.seconds();
  if (seconds < 10) return time_text(time, digits);
  if (seconds < 600) return fmt::format("{:.{}g} s", seconds, digits + 1);
  if (seconds < 36'000) return fmt::format("{:.{}g} min", seconds / 60, digits + 1);
  return fmt::format("{:.{}g} h", seconds / 3600, digits + 1);
}

}  // namespace

void write_epoch(JsonWriter& json, const Epoch& epoch) {
  json.key("epoch").begin_object();
  json.key("dataset_size").integer(epoch.set.size);
  json.key("sampler_drop_last").boolean(epoch.set.sampler_drop_last);
  json.key("loader_drop_last").boolean(epoch.set.loader_drop_last);
  json.key("samples_per_rank").integer(epoch.sampled.per_rank);
  json.key("repeated_samples").integer(epoch.sampled.repeated);
  json.key("dropped_samples").integer(epoch.sampled.dropped);
  json.key("dropped_by_loader").integer(epoch.batched.dropped);
  json.key("batch_per_gpu").integer(epoch.batch);
  json.key("full_batches").integer(epoch.batched.full);
  json.key("tail_batch").integer(epoch.batched.tail);
  json.key("steps").integer(epoch.steps);
  json.key("step_us").time(epoch.step);
  json.key("tail_step_us").time(epoch.tail_step);
  json.key("warm_up_us").time(epoch.warm_up);
  json.key("epoch_us").time(epoch.time);
  json.end_object();
}

void write_joined(JsonWriter& json, const JoinedEpoch& epoch) {
  const auto of_join = std::ranges::count_if(epoch.iteration, &JoinCollective::of_join);
  json.key("join").begin_object();
  json.key("divide_by_initial_world_size").boolean(epoch.inputs.divide_by_initial_world_size);
  json.key("throw_on_early_termination").boolean(epoch.inputs.throw_on_early_termination);
  json.key("least_inputs").integer(epoch.inputs.least);
  json.key("most_inputs").integer(epoch.inputs.most);
  json.key("total_inputs").integer(epoch.inputs.total);
  json.key("collectives_per_iteration").count(epoch.iteration.size());
  json.key("of_join_per_iteration").integer(of_join);
  write_collectives(json, "iteration", epoch.iteration);
  write_collectives(json, "joined_iteration", epoch.joined);
  write_collectives(json, "end", epoch.end);
  json.key("step_us").time(epoch.step);
  json.key("step_without_us").time(epoch.step_without);
  json.key("iterations").integer(epoch.iterations);
  json.key("tail_iterations").integer(epoch.tail);
  json.key("skipped_inputs").integer(epoch.skipped);
  json.key("end_us").time(epoch.end_time);
  json.key("epoch_us").time(epoch.time);
  json.end_object();
}

std::string epoch_lines(const Epoch& epoch, int digits, const TerminalStyle& style) {
  std::string text = fmt::format("An epoch of {} samples: {} for each GPU", epoch.set.size,
                                 epoch.sampled.per_rank);
  if (epoch.sampled.repeated > 0) text += fmt::format(" ({} repeated)", epoch.sampled.repeated);
  if (epoch.sampled.dropped > 0) text += fmt::format(" ({} dropped)", epoch.sampled.dropped);
  text += fmt::format(
      ", {} of {}",
      epoch.batched.full == 1 ? "1 batch" : fmt::format("{} batches", epoch.batched.full),
      epoch.batch);
  if (epoch.batched.tail > 0)
    text += fmt::format(" and one of {}, which takes {} or more (compute in proportion to samples)",
                        epoch.batched.tail, time_text(*epoch.tail_step, digits));
  if (epoch.batched.dropped > 0)
    text += fmt::format(", the last {} of each GPU dropped", epoch.batched.dropped);
  return wrapped(
      text + fmt::format(": {}, {}.", how_many(epoch.steps, "step"), long_time(epoch.time, digits)),
      style.width, kIndent);
}

std::string joined_lines(const JoinedEpoch& epoch, int digits, const TerminalStyle& style) {
  const auto of_join = std::ranges::count_if(epoch.iteration, &JoinCollective::of_join);
  const Duration more = epoch.step - epoch.step_without;
  std::string text = fmt::format("Join adds {} to an iteration, {} a step. ",
                                 how_many(of_join, "small all-reduce"),
                                 time_text(std::max(more, Duration()), digits));
  if (epoch.inputs.throw_on_early_termination && epoch.inputs.least < epoch.inputs.most)
    text += fmt::format(
        "All ranks raise behind {}, when the first has no more inputs: {} are not trained on.",
        how_many(epoch.iterations, "iteration"), how_many(epoch.skipped, "input"));
  else
    text += fmt::format("Of {}, {} with ranks that have joined and send zeros.",
                        how_many(epoch.iterations, "iteration"), how_many(epoch.tail, "iteration"));
  return wrapped(text + fmt::format(" Together {}.", long_time(epoch.time, digits)), style.width,
                 kIndent);
}

}  // namespace ddpsim
