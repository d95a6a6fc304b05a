#include "ddpsim/models/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

constexpr const char* kMark = "estimate";
constexpr int kFirstWithBfloat16 = 80;  // compute capability

Model model_of(const EstimateSpec& spec) {
  return spec.tokens ? find_model(spec.model, *spec.tokens).value()
                     : find_model(spec.model).value();
}

ComputeSetting setting_of(const EstimateSpec& spec, const Model& model, const GpuModel& gpu) {
  return {
      .gpu = gpu, .precision = spec.precision, .batch = spec.batch.value_or(model.default_batch)};
}

/// `bert-large@A100:b8:s512:amp`, nothing left to defaults.
std::string full_name(const Model& model, const ComputeSetting& setting) {
  const std::string tokens =
      model.sample == SampleKind::sequence ? fmt::format(":s{}", model.sample_size) : "";
  return fmt::format("{}@{}:b{}{}:{}", model.name, setting.gpu.name, setting.batch, tokens,
                     name_of(setting.precision));
}

/// Weights, gradients and optimizer state, and what forward keeps for backward.
double memory_bytes(const Model& model, const ComputeSetting& setting) {
  double parameters = 0;
  for (const Parameter& parameter : model.parameters)
    parameters += static_cast<double>(gradient_bytes(parameter)->count());
  const int copies = model.sample == SampleKind::image ? 3 : 4;  // SGD with momentum, or Adam
  const bool half = setting.precision == Precision::amp || setting.precision == Precision::bf16;
  double kept = 0;
  for (const Layer& layer : model.layers)
    kept += static_cast<double>(layer.outputs) * (half && !layer.single_precision ? 2 : 4);
  return copies * parameters + kept * static_cast<double>(setting.batch);
}

}  // namespace

Workload estimate_workload(const EstimateSpec& spec, const GpuModel& gpu) {
  if (spec.precision == Precision::bf16 && gpu.compute_capability < kFirstWithBfloat16)
    throw InputError({.file = spec.model + "@" + spec.gpu,
                      .where = "",
                      .message = gpu.name + " has no bfloat16 units",
                      .hint = "Use amp (fp16)"});
  Model model = model_of(spec);
  const ComputeSetting setting = setting_of(spec, model, gpu);
  Workload workload;
  workload.name = "estimate " + full_name(model, setting);
  workload.gpu = gpu.name;
  workload.precision = name_of(spec.precision);
  workload.batch_per_gpu = setting.batch;
  workload.samples_per_step = static_cast<double>(setting.batch);
  workload.forward.emplace();
  workload.backward.emplace();

  std::vector<Duration> written(model.parameters.size());
  Duration& forward = *workload.forward;
  Duration& backward = workload.backward->duration;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    const LayerCost cost = layer_cost(*layer, setting);
    forward += cost.forward;
    backward += cost.backward();
    for (const std::size_t parameter : layer->parameters) written[parameter] = backward;
  }
  for (const std::size_t parameter : model.ready_order)
    workload.backward->ready.push_back(
        {.parameter = parameter, .at = written[parameter], .copied_at = {}});
  workload.optimizer = optimizer_cost(model, gpu);
  workload.parameters = std::move(model.parameters);
  workload.buffers = std::move(model.buffers);
  const std::string size = model.sample == SampleKind::sequence
                               ? fmt::format("sequences of {} tokens", model.sample_size)
                               : fmt::format("images of {} pixels a side", model.sample_size);
  workload.provenance = {
      {"summary", fmt::format("estimate, not a recording: {}, {}, batch {} of {} on one {}",
                              model.name, name_of(spec.precision), setting.batch, size, gpu.name)},
      {kMark,
       "layer costs from the GPU's data sheet and efficiencies learned from other GPUs' "
       "published times; no data loading, no waiting for the host"},
  };
  if (!model.buffers_as_in.empty())
    workload.provenance.emplace_back(kBuffersMark, "as in " + model.buffers_as_in);
  return workload;
}

std::vector<std::string> estimate_warnings(const EstimateSpec& spec, const GpuModel& gpu) {
  const Model model = model_of(spec);
  const ComputeSetting setting = setting_of(spec, model, gpu);
  std::vector<std::string> warnings;
  const double needed = memory_bytes(model, setting);
  const auto memory = static_cast<double>(gpu.memory.count());
  if (needed > memory)
    warnings.push_back(fmt::format("this batch needs about {:.0f} GiB, and {} has {:.0f} at most",
                                   needed / (1 << 30), gpu.name, memory / (1 << 30)));
  Duration busy;
  int kernels = 0;
  for (const Layer& layer : model.layers) {
    const LayerCost cost = layer_cost(layer, setting);
    busy += cost.forward + cost.backward();
    kernels += layer.forward_kernels + layer.backward_kernels;
  }
  // From one elementwise kernel of PyTorch to the next the host of a V100 took about 20 us (measured
  // by NVIDIA).
  constexpr double kHostPerKernel_us = 20;
  const Duration host = Duration::microseconds(kHostPerKernel_us * kernels);
  if (host > busy)
    warnings.push_back(
        fmt::format("the host would be the bottleneck: about {:.0f} ms to launch {} kernels that "
                    "take the GPU {:.0f} ms; the estimate is the GPU's time (as with CUDA graphs)",
                    host.milliseconds(), kernels, busy.milliseconds()));
  return warnings;
}

bool is_estimate(const Workload& workload) {
  return std::any_of(workload.provenance.begin(), workload.provenance.end(),
                     [](const auto& entry) { return entry.first == kMark; });
}

}  // namespace ddpsim
