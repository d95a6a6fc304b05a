#include "ddpsim/models/transfer.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/frozen.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace ddpsim {
namespace {

/// Ratios of new times to old times.
struct Ratios {
  double forward = 1;
  double optimizer = 1;
  double copies = 1;  ///< memory-bound, whatever the batch
  /// For each parameter, the ratio of the part of backward that ends with its gradient.
  std::vector<double> gradients;
};

Duration compute_time(const Model& model, const ComputeSetting& setting) {
  Duration total = optimizer_cost(model, setting.gpu);
  for (const Layer& layer : model.layers) {
    const LayerCost cost = layer_cost(layer, setting);
    total += cost.forward + cost.backward();
  }
  return total;
}

/// Backward is cut where gradients are written. A part is a layer that completes gradients,
/// together with everything that backward ran since the last such layer. A weight that is used
/// twice is complete at its first use in forward, which backward reaches last.
std::vector<double> gradient_ratios(const Model& model, const Transfer& transfer) {
  std::vector<const Layer*> first_use(model.parameters.size());
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer)
    for (const std::size_t parameter : layer->parameters) first_use[parameter] = &*layer;
  std::vector<double> ratios(model.parameters.size(), 1);
  Duration from;
  Duration to;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    from += layer_cost(*layer, transfer.from).backward();
    to += layer_cost(*layer, transfer.to).backward();
    bool completes = false;
    for (const std::size_t parameter : layer->parameters) {
      if (first_use[parameter] != &*layer) continue;
      ratios[parameter] = to / from;
      completes = true;
    }
    if (!completes) continue;
    from = {};
    to = {};
  }
  return ratios;
}

Ratios ratios_of(const Model& model, const Transfer& transfer) {
  Ratios ratios;
  Duration from;
  Duration to;
  for (const Layer& layer : model.layers) {
    from += layer_cost(layer, transfer.from).forward;
    to += layer_cost(layer, transfer.to).forward;
  }
  ratios.forward = to / from;
  ratios.optimizer =
      optimizer_cost(model, transfer.to.gpu) / optimizer_cost(model, transfer.from.gpu);
  ratios.copies = transfer.from.gpu.memory_bandwidth / transfer.to.gpu.memory_bandwidth;
  ratios.gradients = gradient_ratios(model, transfer);
  return ratios;
}

/// Maps times on the recording's clock to new times, given those of its gradients. Times between
/// two gradients are interpolated.
class Clock {
 public:
  void add(Duration before, Duration now) { marks_.push_back({before, now}); }
  Duration at(Duration time) const {
    if (time <= marks_.front().before) return time;
    const auto next = std::find_if(marks_.begin(), marks_.end(),
                                   [&](const Mark& mark) { return mark.before >= time; });
    if (next == marks_.end()) return time - marks_.back().before + marks_.back().now;
    const Mark& last = *(next - 1);
    const double share = (time - last.before) / (next->before - last.before);
    return last.now + (next->now - last.now).scaled(share);
  }

 private:
  struct Mark {
    Duration before;
    Duration now;
  };
  std::vector<Mark> marks_ = {{}};
};

/// Remaining wait after `work` takes `ratio` times as long. Waits for launches stay as long as
/// before. But if the GPU takes longer, the host gains that time. Returns the part of `waited` that
/// is left.
Duration still_waited(Duration work, double ratio, Duration waited) {
  return std::max(waited - std::max(work.scaled(ratio) - work, Duration()), Duration());
}

/// Rescales a part of the step, including its waits for launches. Returns the new total time.
Duration rescale_part(Duration whole, double ratio, Duration& waited) {
  const Duration work = whole - std::min(waited, whole);
  waited = still_waited(work, ratio, std::min(waited, whole));
  return work.scaled(ratio) + waited;
}

void rescale_backward(Recorded& recorded, const Ratios& ratios, Duration forward_saved) {
  if (!recorded.backward) return;
  Backward& backward = *recorded.backward;
  Duration& waits = recorded.launch_waits.backward;
  const double waited = waits > Duration() ? std::min(1.0, waits / backward.duration) : 0;
  waits = Duration();
  Clock clock;
  Duration before;
  Duration now;
  double ratio = 1;
  const auto rescaled = [&](Duration whole, double by) {
    Duration waiting = whole.scaled(waited);
    const Duration length = rescale_part(whole, by, waiting);
    waits += waiting;
    return length;
  };
  for (std::size_t k = 0; k < backward.ready.size(); ++k) {
    ReadyEvent& event = backward.ready[k];
    ratio = ratios.gradients[event.parameter];
    now += rescaled(event.at - before, ratio);
    before = event.at;
    if (!recorded.host_ready.empty()) {
      // The host keeps its speed, except while the GPU held it up. Forward ends sooner, so on
      // backward's clock the host is later.
      Duration later = forward_saved;
      if (!recorded.host_held.empty()) {
        const Duration sooner = std::max(forward_saved + before - now, Duration());
        const Duration freed = std::min(recorded.host_held[k], sooner);
        recorded.host_held[k] -= freed;
        later -= freed;
      }
      // If the host was behind, the launch decides. The launch was no later than the gradient.
      now = std::max(now, std::min(before, recorded.host_ready[k]) + later);
      recorded.host_ready[k] += later;
    }
    if (event.copied_at)
      event.copied_at = now + (*event.copied_at - event.at).scaled(ratios.copies);
    event.at = now;
    clock.add(before, now);
  }
  // If the copies into buckets are recorded, backward ends with the last copy. Other work after the
  // last gradient scales like the last layer.
  backward.duration = now + rescaled(backward.duration - before, ratio);
  clock.add(before + (backward.duration - now).scaled(1 / ratio), backward.duration);
  for (RecordedCollective& collective : recorded.recorded_with.collectives) {
    collective.launch = clock.at(collective.launch);
    collective.start = clock.at(collective.start);
  }
}

/// The relative variation between steps is assumed to stay the same. The recorded all-reduces
/// belong to the other GPU and are dropped.
void rescale_variation(Recorded& recorded, const Recorded& before) {
  const auto ratio = [](std::optional<Duration> now, std::optional<Duration> then) {
    return now && then && *then > Duration() ? *now / *then : 1.0;
  };
  const auto length = [](const Recorded& one) {
    return one.backward ? std::optional(one.backward->duration) : std::nullopt;
  };
  const double forward = ratio(recorded.forward, before.forward);
  const double backward = ratio(length(recorded), length(before));
  const double iteration = ratio(recorded.iteration, before.iteration);
  for (StepSample& step : recorded.steps) {
    if (step.forward) step.forward = step.forward->scaled(forward);
    if (step.backward) step.backward = step.backward->scaled(backward);
    if (step.iteration) step.iteration = step.iteration->scaled(iteration);
    step.collectives.clear();
  }
  if (!recorded.busy) return;
  PartTimes& busy = *recorded.busy;
  busy.forward = busy.forward.scaled(forward);
  busy.backward = busy.backward.scaled(backward);
  busy.optimizer = busy.optimizer.scaled(ratio(recorded.optimizer, before.optimizer));
}

void rescale(Recorded& recorded, const Ratios& ratios) {
  const Recorded before = recorded;
  // If a forward starts before the last step has ended, the overlap is part of forward and scales
  // with it. A pause is not compute and does not scale.
  std::optional<Duration> between = stall(recorded);
  if (between && *between < Duration()) between = between->scaled(ratios.forward);
  const auto scale = [](std::optional<Duration>& time, double ratio, Duration& waited) {
    if (time) time = rescale_part(*time, ratio, waited);
  };
  Duration none;
  const Duration forward_before = recorded.forward.value_or(Duration());
  scale(recorded.forward, ratios.forward, recorded.launch_waits.forward);
  rescale_backward(recorded, ratios, forward_before - recorded.forward.value_or(Duration()));
  scale(recorded.optimizer, ratios.optimizer, recorded.launch_waits.optimizer);
  scale(recorded.recorded_with.finalize, ratios.copies, none);
  if (between) {
    const RecordedWith& with = recorded.recorded_with;
    recorded.iteration = recorded.forward.value_or(Duration()) +
                         (recorded.backward ? recorded.backward->duration : Duration()) +
                         with.exposed.value_or(Duration()) + with.finalize.value_or(Duration()) +
                         recorded.optimizer.value_or(Duration()) + *between;
  }
  rescale_variation(recorded, before);
}

/// Held memory scales with the batch, except for the gradients of parameters.
void rescale_activations(Activations& activations, const Workload& workload,
                         const Transfer& transfer) {
  const auto rescaled = [&](Bytes bytes) {
    return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.count()) /
                                           static_cast<double>(transfer.from.batch) *
                                           static_cast<double>(transfer.to.batch)));
  };
  activations.bytes = rescaled(activations.bytes);
  for (KeptBy& one : activations.by) one.bytes = rescaled(one.bytes);
  const std::vector<ReadyEvent>& ready = workload.backward->ready;
  for (std::size_t k = 0; k < activations.held.size(); ++k) {
    Bytes gradient;
    if (k < ready.size())
      gradient = gradient_bytes(workload.parameters[ready[k].parameter]).value_or(Bytes());
    gradient = std::min(gradient, activations.held[k]);
    activations.held[k] = rescaled(activations.held[k] - gradient) + gradient;
  }
}

using Shapes = std::vector<decltype(Parameter::shape)>;

Shapes shapes_of(const std::vector<Parameter>& parameters) {
  Shapes shapes;
  for (const Parameter& parameter : parameters) shapes.push_back(parameter.shape);
  return shapes;
}

/// Shapes of the parameters of each model of the catalogue, in the order of model_names. Computed
/// once; the models are not kept.
const std::vector<Shapes>& catalogue_shapes() {
  static const std::vector<Shapes> all = [] {
    std::vector<Shapes> shapes;
    for (const std::string& name : model_names())
      shapes.push_back(shapes_of(find_model(name).value().parameters));
    return shapes;
  }();
  return all;
}

/// The last word in front of '@' in the workload's name: bert-large in "estimate
/// bert-large@A100:b32".
std::string_view model_named_by(const Workload& workload) {
  const std::string_view name = std::string_view(workload.name).substr(0, workload.name.find('@'));
  return name.substr(name.rfind(' ') + 1);
}

std::optional<std::string_view> stated(const Workload& workload, std::string_view mark) {
  for (const auto& [key, value] : workload.provenance)
    if (key == mark) return value;
  return std::nullopt;
}

/// The model with the parameters frozen that are frozen in the workload, and with the optimizer and
/// the memory format that an estimate states.
Model trained_as(Model model, const Workload& workload) {
  model.optimizer = stated_optimizer(workload);
  model.fused_optimizer = states_fused_optimizer(workload);
  if (states_channels_last(workload))
    for (Layer& layer : model.layers) layer.channels_last = true;
  for (std::size_t i = 0; i < model.parameters.size(); ++i)
    model.parameters[i].frozen = workload.parameters[i].frozen;
  leave_out_frozen(model);
  return model;
}

}  // namespace

std::optional<Optimizer> stated_optimizer(const Workload& workload) {
  return optimizer_from_word(stated(workload, kOptimizerMark).value_or(""));
}

std::optional<Optimizer> assumed_optimizer(const Workload& workload) {
  return optimizer_from_word(stated(workload, kUsualOptimizerMark).value_or(""));
}

bool states_fused_optimizer(const Workload& workload) {
  return stated(workload, kFusedMark) == "true";
}

bool states_channels_last(const Workload& workload) {
  return stated(workload, kMemoryFormatMark).has_value();
}

std::optional<Model> recognised_model(const Workload& workload) {
  const Shapes shapes = shapes_of(workload.parameters);
  // A name alone is no proof. But if the named model matches, the other models need not be built.
  std::optional<Model> model = find_model(model_named_by(workload));
  if (!model || shapes_of(model->parameters) != shapes) {
    const auto found = std::ranges::find(catalogue_shapes(), shapes);
    if (found == catalogue_shapes().end()) return std::nullopt;
    model = find_model(model_names()[static_cast<std::size_t>(found - catalogue_shapes().begin())]);
  }
  return trained_as(std::move(*model), workload);
}

std::optional<Model> recognised_model(const Workload& workload, std::int64_t sample_size) {
  constexpr std::int64_t kFewestPixelsASide = 32;
  constexpr std::int64_t kMostPixelsASide = 4096;  // counts of elements fit in 63 bits
  const std::optional<Model> usual = recognised_model(workload);
  if (!usual) return std::nullopt;
  const ModelDescription description = describe_model(usual->name).value();
  const bool possible = description.sample == SampleKind::sequence
                            ? sample_size >= 1 && sample_size <= description.most_tokens
                            : sample_size >= kFewestPixelsASide && sample_size <= kMostPixelsASide;
  if (!possible) return std::nullopt;
  Model model = trained_as(build_model(description, sample_size, std::nullopt), workload);
  const bool shrinks_to_nothing = std::ranges::any_of(model.layers, [](const Layer& layer) {
    return layer.product && (layer.product->out_height < 1 || layer.product->out_width < 1);
  });
  return shrinks_to_nothing ? std::nullopt : std::optional(std::move(model));
}

bool mark_batch_norms(Workload& workload) {
  if (std::ranges::any_of(workload.parameters, &Parameter::batch_norm)) return true;
  const std::optional<Model> model = recognised_model(workload);
  if (!model) return false;
  for (std::size_t i = 0; i < workload.parameters.size(); ++i)
    workload.parameters[i].batch_norm = model->parameters[i].batch_norm;
  return true;
}

Workload transferred(Workload workload, const Model& model, const Transfer& transfer) {
  const Ratios ratios = ratios_of(model, transfer);
  rescale(workload, ratios);
  workload.carried_over = true;
  for (RankRecording& rank : workload.ranks) rescale(rank, ratios);
  workload.gpu = transfer.to.gpu.name;
  workload.gpu_variant = transfer.to.gpu.known_variant();
  workload.batch_per_gpu = transfer.to.batch;
  for (std::optional<Activations>* kept : {&workload.activations, &workload.activations_in_half})
    if (*kept) rescale_activations(**kept, workload, transfer);
  if (workload.samples_per_step)
    *workload.samples_per_step *=
        static_cast<double>(transfer.to.batch) / static_cast<double>(transfer.from.batch);
  return workload;
}

double speedup(const Model& model, const Transfer& transfer) {
  return compute_time(model, transfer.from) / compute_time(model, transfer.to);
}

}  // namespace ddpsim
