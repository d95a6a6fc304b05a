#include "memory_knowledge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/kept_activations.hpp"
#include "ddpsim/models/transfer.hpp"

namespace ddpsim {
namespace {

/// Activations counted layer by layer, at the usual image size of the model.
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

Optimizer usual_for(const Workload& workload, const std::optional<Model>& model) {
  if (const std::optional<Optimizer> assumed = assumed_optimizer(workload)) return *assumed;
  return model ? usual_optimizer(model->sample) : Optimizer::adam;
}

}  // namespace

OptimizerSetting know_memory(const MemoryRequest& request, Workload& workload) {
  std::optional<Model> model;
  if (!request.optimizer || !workload.activations) model = recognised_model(workload);
  if (model && !workload.activations) workload.activations = by_layers(*model, workload);
  const std::optional<Optimizer> stated =
      request.optimizer ? request.optimizer : stated_optimizer(workload);
  return {.kind = stated.value_or(usual_for(workload, model)),
          .assumed = !stated,
          .master_weights = request.master_weights,
          .fused = states_fused_optimizer(workload)};
}

std::optional<std::string> other_optimizer_warning(const MemoryRequest& request,
                                                   const Workload& workload) {
  if (!request.optimizer || !is_estimate(workload)) return std::nullopt;
  const std::optional<Optimizer> stated = stated_optimizer(workload);
  const Optimizer timed = stated ? *stated : usual_for(workload, std::nullopt);
  if (timed == *request.optimizer) return std::nullopt;
  return fmt::format(
      "--optimizer {0} counts in memory alone: the step was timed with {1}. Write {0} behind the "
      "GPU, as in MODEL@GPU:{0}",
      word_of(*request.optimizer), word_of(timed));
}

}  // namespace ddpsim
