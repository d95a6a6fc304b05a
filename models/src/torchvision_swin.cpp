#include "torchvision_swin.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kPatch = 4;
constexpr std::int64_t kWindow = 7;  // patches per side, within which attention stays

struct SwinBlock {
  std::int64_t heads = 0;
  bool shifted = false;  ///< windows lie between those of the block before
  /// A branch is left out for some samples, at random.
  bool drops_samples = false;
};

void shifted_window_attention(ModuleRecorder& model, const std::string& name,
                              const SwinBlock& block) {
  constexpr std::int64_t kPlaces = kWindow * kWindow;
  constexpr std::int64_t kDistances = (2 * kWindow - 1) * (2 * kWindow - 1);
  Activation map = model.activation();
  constexpr ModuleRecorder::Passes kCopy = {.forward = 2, .backward = 2, .kept = 0};
  model.look_up_for_scores(
      model.table(name + ".relative_position_bias_table", kDistances, block.heads),
      kPlaces * kPlaces);
  model.buffer(Dtype::int64, kPlaces * kPlaces);  // relative_position_index
  model.elementwise(name + ".pad", kCopy);
  if (block.shifted) model.elementwise(name + ".roll", kCopy);
  model.elementwise(name + ".partition", {.forward = 2, .backward = 2});
  model.linear(name + ".qkv", 3 * map.channels);
  model.free_output();
  map.single = false;
  model.continue_from(map);
  // Backward puts the gradients of queries, keys and values into three tensors of zeros, and sums
  // these.
  model.elementwise(name + ".split", {.forward = 2, .backward = 30, .kernels = 6, .kept = 2});
  model.attention(name, {.heads = block.heads, .keys = kPlaces});
  if (block.shifted) {
    model.continue_from({.channels = block.heads * kPlaces, .height = map.positions()});
    model.elementwise(name + ".mask", {.forward = 2, .kernels = 12, .kept = 0});
    model.continue_from(map);
  }
  model.linear(name + ".proj", map.channels);
  model.elementwise(name + ".reverse", kCopy);
  if (block.shifted) model.elementwise(name + ".roll_back", kCopy);
}

void end_swin_branch(ModuleRecorder& model, const std::string& name, const SwinBlock& block,
                     const Activation& given) {
  if (block.drops_samples)
    model.elementwise(name + ".stochastic_depth", {.forward = 2, .backward = 2});
  model.add(name + ".add", given);
}

void run_swin_block(ModuleRecorder& model, const std::string& prefix, const SwinBlock& block) {
  const Activation given = model.activation();
  const std::int64_t features = given.channels;
  model.layer_norm(prefix + "norm1");
  model.free_output();  // the windows are copies of it
  shifted_window_attention(model, prefix + "attn", block);
  end_swin_branch(model, prefix + "attn", block, given);
  const Activation attended = model.activation();
  model.layer_norm(prefix + "norm2");
  model.linear(prefix + "mlp.0", 4 * features);
  model.gelu(prefix + "mlp.1");
  model.linear(prefix + "mlp.3", features);
  end_swin_branch(model, prefix + "mlp", block, attended);
}

/// Four patches become one with twice the features.
void merge_patches(ModuleRecorder& model, const std::string& prefix) {
  const std::size_t first = model.defined();
  const Activation map = model.activation();
  model.continue_from(
      {.channels = 4 * map.channels, .height = (map.height + 1) / 2, .width = (map.width + 1) / 2});
  model.concatenate(prefix + "cat", 4 * map.channels);
  model.layer_norm(prefix + "norm");
  model.linear(prefix + "reduction", 2 * map.channels, false);
  model.define_in_order(first, prefix, "reduction norm");
}

}  // namespace

Model build_model(const std::string& name, const TorchvisionSwinShape& shape, std::int64_t size) {
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  model.conv2d("features.0.0", {.out = shape.features,
                                .kernel = {.height = kPatch, .width = kPatch},
                                .stride = kPatch,
                                .bias = true});
  model.layer_norm("features.0.2");
  bool first = true;
  for (std::size_t stage = 0; stage < shape.depths.size(); ++stage) {
    if (stage > 0) merge_patches(model, "features." + std::to_string(2 * stage) + ".");
    const std::string prefix = "features." + std::to_string(2 * stage + 1) + ".";
    for (std::int64_t depth = 0; depth < shape.depths[stage]; ++depth)
      run_swin_block(model, prefix + std::to_string(depth) + ".",
                     {.heads = shape.heads[stage],
                      .shifted = depth % 2 == 1 && model.activation().height > kWindow,
                      .drops_samples = !std::exchange(first, false)});
  }
  model.layer_norm("norm");
  model.adaptive_average_pool("avgpool", 1);
  model.linear("head", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
