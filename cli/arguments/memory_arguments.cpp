#include "memory_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/kept_activations.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "help_group.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

/// By these layers, at the size of image they are mostly given.
std::optional<Activations> by_layers(const Model& model, const Workload& workload) {
  if (model.sample != SampleKind::image || !workload.batch_per_gpu || !workload.backward)
    return std::nullopt;
  Activations activations = kept_activations(
      model, {.gpu = {},
              .precision = precision_from_name(workload.precision).value_or(Precision::fp32),
              .batch = *workload.batch_per_gpu});
  const std::vector<ReadyEvent>& ready = workload.backward->ready;
  const bool same_order = std::equal(
      ready.begin(), ready.end(), model.ready_order.begin(), model.ready_order.end(),
      [](const ReadyEvent& event, std::size_t parameter) { return event.parameter == parameter; });
  if (!same_order) activations.held.clear();
  return activations;
}

/// "A batch of 37 would fit by the same count"; empty where none would, or nothing scales with it.
std::string batch_that_fits(const PeakMemory& peak, Bytes there, const Workload& workload) {
  if (!workload.batch_per_gpu || !peak.activations || peak.at != PeakMoment::backward) return "";
  const auto fixed = static_cast<double>((peak.total() - *peak.parts.activations).count());
  const double each = static_cast<double>(peak.parts.activations->count()) /
                      static_cast<double>(*workload.batch_per_gpu);
  const double batch = (static_cast<double>(there.count()) - fixed) / each;
  return batch < 1 ? ""
                   : fmt::format("A batch of {} would fit by the same count",
                                 static_cast<std::int64_t>(batch));
}

/// On that GPU, with that batch; on a variant with more memory it proves nothing.
bool was_run(const Job& job) {
  const Workload& workload = job.workload();
  const std::optional<GpuModel> gpu = recorded_on(workload);
  return !is_estimate(workload) && !workload.carried_over && gpu &&
         gpu->name == job.cluster().gpu.name &&
         (gpu->variant_open || gpu->memory <= job.cluster().gpu.memory);
}

/// "A100-40GB has 40 GiB"; a name that leaves the variant open says which was taken.
std::string memory_there(const GpuModel& gpu, Bytes memory) {
  return gpu.variant_open ? fmt::format("{} (taken for {}) has {}", gpu.name, gpu.variant,
                                        rounded_size_text(memory))
                          : fmt::format("{} has {}", gpu.product(), rounded_size_text(memory));
}

}  // namespace

void add_memory_options(CLI::App& command, MemoryArguments& arguments) {
  const HelpGroup group(command, kMemoryGroup);
  std::vector<std::pair<std::string, std::optional<Optimizer>>> optimizers;
  for (const Optimizer optimizer :
       {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adamw})
    optimizers.emplace_back(word_of(optimizer), optimizer);
  add_word_option(
      command, "--optimizer", arguments.optimizer, std::move(optimizers),
      "whose state counts as memory (its time is the recording's); default: momentum for models "
      "of images, adam for others");
  command.add_flag("--master-weights", arguments.master_weights,
                   "fp32 copies of half-precision parameters, as apex O2 and Megatron keep");
  command.add_option(
      "--memory", arguments.limit,
      "of each GPU, 40GB: what needs more has no answer; default: what the cluster's GPU has");
}

std::optional<Bytes> memory_limit(const MemoryArguments& arguments) {
  if (!arguments.limit) return std::nullopt;
  const Parsed<Bytes> parsed = parse_bytes(*arguments.limit);
  if (!parsed.value) throw UsageError("--memory: " + parsed.problem);
  return parsed.value;
}

OptimizerSetting know_memory(const MemoryArguments& arguments, Workload& workload) {
  std::optional<Model> model;
  if (!arguments.optimizer || !workload.activations) model = recognised_model(workload);
  if (model && !workload.activations) workload.activations = by_layers(*model, workload);
  const Optimizer usual = model ? usual_optimizer(model->sample) : Optimizer::adam;
  return {.kind = arguments.optimizer.value_or(usual),
          .assumed = !arguments.optimizer,
          .master_weights = arguments.master_weights};
}

std::optional<MemoryProblem> memory_problem(const PeakMemory& peak, const MemoryThere& there,
                                            const Job& job, const std::string& workload) {
  const bool fits = peak.total() <= there.bytes;
  if (fits && (peak.activations || !there.stated)) return std::nullopt;
  MemoryProblem problem;
  Diagnostic& diagnostic = problem.diagnostic;
  diagnostic.file = workload;
  if (fits) {
    diagnostic.message = fmt::format(
        "whether it fits into {} is not known: activations are not; without them it needs {}",
        rounded_size_text(there.bytes), rounded_size_text(peak.total()));
    return problem;
  }
  problem.refused = there.stated || !was_run(job);
  diagnostic.message =
      fmt::format("needs {} {} of memory per GPU, and {}", peak.activations ? "about" : "more than",
                  rounded_size_text(peak.total()),
                  there.stated ? "--memory gives it " + rounded_size_text(there.bytes)
                               : memory_there(job.cluster().gpu, there.bytes));
  std::vector<std::string> remedies = {batch_that_fits(peak, there.bytes, job.workload())};
  const bool by_layers = peak.activations && !peak.activations->recorded;
  const Bytes kept = peak.total() - peak.parts.activations.value_or(Bytes());
  constexpr double kRoom = 0.9;  // of the memory: what else there is leaves activations too little
  if (!there.stated && by_layers)
    remedies.push_back(
        static_cast<double>(kept.count()) > kRoom * static_cast<double>(there.bytes.count())
            ? fmt::format("Without activations {} of it remain: shard it, --scheme fsdp2",
                          rounded_size_text(kept))
            : "With activation checkpointing or fused attention it needs less");
  std::erase(remedies, "");
  problem.remedy = fmt::format("{}", fmt::join(remedies, ". "));
  if (!there.stated) remedies.emplace_back("To simulate it anyway, pass --memory");
  diagnostic.hint = fmt::format("{}", fmt::join(remedies, ". "));
  return problem;
}

}  // namespace ddpsim
