#include "ddpsim/models/estimate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/models/frozen.hpp"
#include "ddpsim/models/kept_activations.hpp"
#include "ddpsim/models/launches.hpp"
#include "ddpsim/models/model_flops.hpp"

namespace ddpsim {
namespace {

constexpr int kFirstWithBfloat16 = 80;  // compute capability

ComputeSetting setting_of(const EstimateSpec& spec, const Model& model, const GpuModel& gpu) {
  return {
      .gpu = gpu, .precision = spec.precision, .batch = spec.batch.value_or(model.default_batch)};
}

bool computes_otherwise(const EstimateSpec& spec) {
  return spec.attention && spec.attention != spec.description.attention;
}

/// `bert-large@A100:b8:s512:amp`, with all defaults written out.
std::string full_name(const EstimateSpec& spec, const Model& model, const ComputeSetting& setting) {
  const std::string tokens = model.sample == SampleKind::sequence && !spec.description.traced
                                 ? fmt::format(":s{}", model.sample_size)
                                 : "";
  std::string name = fmt::format("{}@{}:b{}{}:{}", model.name, setting.gpu.stated(), setting.batch,
                                 tokens, name_of(setting.precision));
  if (computes_otherwise(spec)) name += fmt::format(":attn={}", name_of(*spec.attention));
  if (spec.checkpointing != usual_checkpointing(spec.description))
    name += fmt::format(":ckpt={}", name_of(spec.checkpointing));
  if (!spec.frozen.empty()) name += fmt::format(":frozen={}", fmt::join(spec.frozen, "+"));
  if (spec.optimizer) name += fmt::format(":{}", word_of(*spec.optimizer));
  if (spec.fused_optimizer) name += ":fused";
  if (spec.channels_last) name += ":channels_last";
  if (spec.synchronized) name += ":sync";
  return name;
}

/// Makes sure that bytes and picoseconds fit in 63 bits. The limit for a step is about half a day
/// on one GPU.
void require_possible(const EstimateSpec& spec, const Model& model, const ComputeSetting& setting) {
  constexpr double kMostBytes = 1e17;
  constexpr double kMostSeconds = 5e4;
  constexpr double kElement = 8;       // upper limit, with masks and indices
  constexpr double kScorePasses = 10;  // where attention has no fused kernel
  double elements = 0;
  double flops = 0;
  for (const Layer& layer : model.layers) {
    elements += static_cast<double>(layer.forward_elements) +
                static_cast<double>(layer.backward_elements) + static_cast<double>(layer.inputs) +
                static_cast<double>(layer.outputs) + static_cast<double>(layer.kept_bytes) +
                static_cast<double>(layer.autocast_casts) + static_cast<double>(layer.half_casts);
    if (layer.product) flops += 6 * layer.product->multiply_adds();
    if (layer.fused) {
      flops += 7 * layer.fused->multiply_adds();
      elements += kScorePasses * layer.fused->scores();
    }
  }
  const auto batch = static_cast<double>(setting.batch);
  const double seconds =
      flops * batch / (setting.gpu.fp32_tflops * 1e12) +
      elements * batch * kElement / setting.gpu.memory_bandwidth.bytes_per_second();
  if (elements * batch * kElement <= kMostBytes && seconds <= kMostSeconds) return;
  throw InputError({.file = in_quotes(spec.model + "@" + spec.gpu),
                    .where = "",
                    .message = fmt::format("one step of batch {} takes hours on one {}",
                                           setting.batch, setting.gpu.name),
                    .hint = "Take a smaller batch, shorter sequences or a smaller model"});
}

struct SecondRun {
  Duration duration;
  Launched launched;
};

/// The part of a block's forward that backward runs again.
SecondRun second_run(const Model& model, const Block& block, const std::vector<LayerFate>& fates,
                     const ComputeSetting& setting) {
  SecondRun run;
  for (std::size_t k = block.first; k < block.last; ++k) {
    if (fates[k] != LayerFate::run_again) continue;
    run.duration += layer_cost(model.layers[k], setting).forward;
    run.launched += layer_launches(model.layers[k], setting).forward;
  }
  return run;
}

struct LayerTimes {
  Duration forward;
  Duration backward_begin;
  Duration backward_end;
};

/// Sets the module times of each parameter: those of its layer. If several layers use it, they last
/// from the first to the last one that backward reaches. `whole` holds the layers with all of their
/// parameters.
void note_module_times(const std::vector<Layer>& whole, const std::vector<LayerTimes>& times,
                       const Workload& workload, Model& model) {
  const auto share = [](Duration of, Duration all) {
    return all > Duration() ? std::min(of / all, 1.0) : 0.0;
  };
  Duration at;
  for (std::size_t k = 0; k < whole.size(); ++k) {
    const double begin = share(at, *workload.forward);
    at += times[k].forward;
    const double end = share(at, *workload.forward);
    for (const std::size_t parameter : whole[k].parameters) {
      auto& time = model.parameters[parameter].module_time;
      if (!time) time = ModuleTime{.forward_begin = begin, .forward_end = end, .backward = {}};
      if (!model.layers[k].reached) continue;
      const double first = share(times[k].backward_begin, workload.backward->duration);
      const double last = share(times[k].backward_end, workload.backward->duration);
      if (!time->backward)
        time->backward = {first, last};
      else
        time->backward = {std::min(time->backward->first, first),
                          std::max(time->backward->second, last)};
    }
  }
}

/// Times of the model's layers in a step, and when each gradient is written. Entries are by layer
/// or by parameter.
struct LayerRun {
  std::vector<LayerTimes> times;
  std::vector<Duration> written;  ///< since backward began
  /// Launches of backward before the gradient is written.
  std::vector<Launched> launched_before;
  Duration forward;
  Duration backward;
  LayerLaunches launched;
};

/// Runs backward through the layers. In front of the backward of a checkpointed block, its forward
/// runs again.
LayerRun run_layers(const Model& model, const ComputeSetting& setting,
                    const Checkpointing& checkpointing) {
  LayerRun run{.times = std::vector<LayerTimes>(model.layers.size()),
               .written = std::vector<Duration>(model.parameters.size()),
               .launched_before = std::vector<Launched>(model.parameters.size()),
               .forward = {},
               .backward = {}};
  const std::vector<LayerFate> fates = layer_fates(model, checkpointing);
  auto block = model.blocks.rbegin();
  for (std::size_t k = model.layers.size(); k-- > 0;) {
    if (block != model.blocks.rend() && k + 1 == block->last) {
      if (model.layers[k].reached) {
        const SecondRun again = second_run(model, *block, fates, setting);
        run.backward += again.duration;
        run.launched.backward += again.launched;
      }
      ++block;
    }
    const Layer& layer = model.layers[k];
    const LayerCost cost = layer_cost(layer, setting);
    const LayerLaunches launched = layer_launches(layer, setting);
    run.times[k].forward = cost.forward;
    run.times[k].backward_begin = run.backward;
    run.forward += cost.forward;
    run.backward += cost.backward();
    run.times[k].backward_end = run.backward;
    run.launched.forward += launched.forward;
    run.launched.backward += launched.backward;
    for (const std::size_t parameter : layer.parameters) {
      run.written[parameter] = run.backward;
      run.launched_before[parameter] = run.launched.backward;
    }
  }
  return run;
}

std::int64_t rounded_work(const Launched& launched) {
  return std::llround(launched.host_work());
}

/// How many steps the host may be ahead of the GPU. GradScaler, which fp16 needs, reads in each step
/// whether gradients were finite.
std::optional<int> steps_ahead_of(const EstimateSpec& spec) {
  return spec.synchronized || spec.precision == Precision::amp ? std::optional(0) : std::nullopt;
}

/// Sets forward, backward and what they and the optimizer launch.
void set_times(const Model& model, const LayerRun& run, const Launched& optimizer,
               std::optional<int> steps_ahead, Workload& workload) {
  workload.forward = run.forward;
  Backward& backward = workload.backward.emplace();
  backward.duration = run.backward;
  Launches& launches = workload.launches.emplace();
  launches.forward = rounded_work(run.launched.forward);
  std::int64_t counted = 0;
  for (const std::size_t parameter : model.ready_order) {
    backward.ready.push_back(
        {.parameter = parameter, .at = run.written[parameter], .copied_at = {}});
    const std::int64_t before = rounded_work(run.launched_before[parameter]);
    launches.backward.push_back(before - counted);
    counted = before;
  }
  launches.optimizer = rounded_work(optimizer);
  launches.steps_ahead = steps_ahead;
}

/// "1507 operators with 2640 kernels in forward and backward, 3 with 15 in the optimizer"
std::string launches_text(const LayerLaunches& layers, const Launched& optimizer) {
  const Launched both = layers.forward + layers.backward;
  return fmt::format(
      "{} operators with {} kernels in forward and backward, {} with {} in the optimizer",
      both.operators, both.kernels, optimizer.operators, optimizer.kernels);
}

/// "sequences of 512 tokens"
std::string samples_of(const Model& model) {
  if (model.sample_size == 0) return "samples";
  return model.sample == SampleKind::sequence
             ? fmt::format("sequences of {} tokens", model.sample_size)
             : fmt::format("images of {} pixels a side", model.sample_size);
}

/// "eager"; empty if the model has no attention.
std::string attention_text(const Model& model, const ComputeSetting& setting) {
  bool attends = false;
  bool fused = false;
  bool written_out = false;
  for (const Layer& layer : model.layers) {
    attends = attends || layer.kind == LayerKind::attention;
    if (!layer.fused) continue;
    fused = true;
    written_out = written_out || !runs_fused(*layer.fused, setting);
  }
  if (!attends) return "";
  return fmt::format("{}{}", name_of(fused ? AttentionKernel::sdpa : AttentionKernel::eager),
                     written_out ? ", not fused: heads share keys" : "");
}

/// Origin of the estimate, its assumptions and what it leaves out.
std::vector<std::pair<std::string, std::string>> provenance_of(const EstimateSpec& spec,
                                                               const Model& model,
                                                               const ComputeSetting& setting,
                                                               const GpuModel& gpu,
                                                               std::string launches) {
  const std::string size = samples_of(model);
  std::vector<std::pair<std::string, std::string>> provenance = {
      {"summary",
       fmt::format("estimate, not a recording: {}, {}, batch {} of {} on one {}", model.name,
                   name_of(spec.precision), setting.batch, size, gpu.stated())},
      {std::string(kLaunchesMark), std::move(launches)},
      {std::string(kEstimateMark),
       "layer costs from the GPU's data sheet and efficiencies learned from other GPUs' "
       "published times; no data loading"},
  };
  if (const std::string attention = attention_text(model, setting); !attention.empty())
    provenance.emplace_back("attention", attention);
  if (spec.checkpointing != Checkpointing{})
    provenance.emplace_back("checkpointing", name_of(spec.checkpointing));
  provenance.emplace_back(model.optimizer ? kOptimizerMark : kUsualOptimizerMark,
                          word_of(model.optimizer.value_or(usual_optimizer(model.sample))));
  if (model.fused_optimizer) provenance.emplace_back(kFusedMark, "true");
  if (spec.channels_last) provenance.emplace_back(kMemoryFormatMark, "channels_last");
  if (!spec.frozen.empty())
    provenance.emplace_back("frozen", fmt::format("{}", fmt::join(spec.frozen, "+")));
  if (!spec.description.source.empty())
    provenance.emplace_back("dimensions", spec.description.source);
  if (!spec.description.assumed.empty())
    provenance.emplace_back("assumed",
                            fmt::format("{}", fmt::join(spec.description.assumed, ", ")));
  if (!spec.description.ignored.empty())
    provenance.emplace_back(kIgnoredMark,
                            fmt::format("{}", fmt::join(spec.description.ignored, ", ")));
  if (!spec.description.notes.empty())
    provenance.emplace_back(spec.description.config_file ? kNoteMark : kModelNoteMark,
                            fmt::format("{}", fmt::join(spec.description.notes, "; ")));
  if (!model.buffers_as_in.empty())
    provenance.emplace_back(kBuffersMark, "as in " + model.buffers_as_in);
  return provenance;
}

}  // namespace

Model model_of(const EstimateSpec& spec) {
  Model model = build_model(spec.description, spec.tokens, spec.attention);
  const auto refuse = [&](std::string message, Hint hint) {
    throw InputError({.file = in_quotes(spec.model + "@" + spec.gpu),
                      .where = "",
                      .message = std::move(message),
                      .hint = std::move(hint)});
  };
  if (spec.optimizer) model.optimizer = spec.optimizer;
  model.fused_optimizer = model.fused_optimizer || spec.fused_optimizer;
  if (spec.channels_last)
    for (Layer& layer : model.layers) layer.channels_last = true;
  const std::vector<std::string> unmatched = freeze(model, spec.frozen);
  if (!unmatched.empty())
    refuse(fmt::format("frozen={}: no module or parameter has this name", unmatched.front()),
           fmt::format("'*' stands for anything within one name; {} has {} and others", model.name,
                       model.parameters.front().name));
  if (std::ranges::all_of(model.parameters, &Parameter::frozen))
    refuse("every parameter is frozen: there is nothing to train", "Leave some out of frozen=");
  return model;
}

Workload estimate_workload(const EstimateSpec& spec, const GpuModel& gpu) {
  const bool bfloat16 = spec.precision == Precision::bf16 || spec.precision == Precision::bf16_true;
  if (bfloat16 && gpu.compute_capability < kFirstWithBfloat16)
    throw InputError({.file = spec.model + "@" + spec.gpu,
                      .where = "",
                      .message = gpu.name + " has no bfloat16 units",
                      .hint = "Use amp (fp16)"});
  Model model = model_of(spec);
  for (Parameter& parameter : model.parameters)
    if (parameter.dtype == Dtype::float32) parameter.dtype = parameter_dtype(spec.precision);
  const ComputeSetting setting = setting_of(spec, model, gpu);
  require_possible(spec, model, setting);
  const std::vector<Layer> whole = model.layers;
  leave_out_frozen(model);
  const LayerRun run = run_layers(model, setting, spec.checkpointing);
  Workload workload;
  workload.name = "estimate " + full_name(spec, model, setting);
  workload.gpu = gpu.name;
  workload.gpu_variant = gpu.known_variant();
  workload.precision = name_of(spec.precision);
  workload.batch_per_gpu = setting.batch;
  workload.samples_per_step = static_cast<double>(setting.batch);
  workload.sample = sample_work(model);
  const Launched optimizer = optimizer_launches(model, spec.precision);
  set_times(model, run, optimizer, steps_ahead_of(spec), workload);
  if (!spec.frozen.empty()) note_module_times(whole, run.times, workload, model);
  workload.optimizer = optimizer_cost(model, gpu);
  workload.activations = kept_activations(model, setting, spec.checkpointing);
  if (casts_weights(spec.precision)) {
    ComputeSetting half = setting;
    half.precision = Precision::bf16_true;
    workload.activations_in_half = kept_activations(model, half, spec.checkpointing);
  }
  workload.parameters = std::move(model.parameters);
  workload.buffers = std::move(model.buffers);
  workload.provenance =
      provenance_of(spec, model, setting, gpu, launches_text(run.launched, optimizer));
  return workload;
}

}  // namespace ddpsim
