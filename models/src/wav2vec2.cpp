#include "wav2vec2.hpp"

#include <utility>

#include "module_recorder.hpp"
#include "transformer_block.hpp"

namespace ddpsim {
namespace {

BlockModules speech_block(const SpeechShape& shape) {
  const auto around = [&](const char* norm) {
    const NormModule module = {.name = norm, .bias = true};
    return shape.norm_first ? BranchModules{.before = module} : BranchModules{.behind = module};
  };
  BlockModules block;
  block.hidden = shape.hidden;
  block.attention = {.hidden = shape.hidden,
                     .heads = shape.heads,
                     .key_heads = shape.heads,
                     .head_features = shape.hidden / shape.heads,
                     .query = {"attention.q_proj", true},
                     .key = {"attention.k_proj", true},
                     .value = {"attention.v_proj", true},
                     .output = {"attention.out_proj", true}};
  block.around_attention = around("layer_norm");
  block.feed_forward = {.features = shape.feed_forward,
                        .gate = {},
                        .up = {"feed_forward.intermediate_dense", true},
                        .down = {"feed_forward.output_dense", true}};
  block.around_feed_forward = around("final_layer_norm");
  block.dropout = shape.dropout;
  block.defined =
      "attention.k_proj attention.v_proj attention.q_proj attention.out_proj layer_norm "
      "feed_forward "
      "final_layer_norm";
  return block;
}

/// Processes as many sound samples as make `frames` frames.
void hear_sound(ModuleRecorder& model, const SpeechShape& shape, std::int64_t frames) {
  std::int64_t samples = frames;
  for (std::size_t k = shape.kernels.size(); k-- > 0;)
    samples = (samples - 1) * shape.strides[k] + shape.kernels[k];
  model.continue_from({.channels = 1, .height = samples, .single = true});
  for (std::size_t k = 0; k < shape.kernels.size(); ++k) {
    const std::string layer =
        shape.base + "feature_extractor.conv_layers." + std::to_string(k) + ".";
    model.conv2d(layer + "conv", {.out = shape.features[k],
                                  .kernel = {.height = shape.kernels[k], .width = 1},
                                  .stride = shape.strides[k],
                                  .bias = shape.convolution_bias,
                                  .one_dimension = true});
    if (k == 0 || shape.norm_every_convolution) model.layer_norm(layer + "layer_norm");
    model.gelu(layer + "activation");
  }
}

void position_frames(ModuleRecorder& model, const SpeechShape& shape) {
  const std::string conv = shape.base + "encoder.pos_conv_embed.conv.";
  const std::size_t first = model.defined();
  const Activation frames = model.activation();
  model.normalized_convolution(conv, {.out = shape.hidden,
                                      .kernel = {.height = shape.position_kernel, .width = 1},
                                      .padding = {.height = shape.position_kernel / 2, .width = 0},
                                      .groups = shape.position_groups,
                                      .bias = true,
                                      .one_dimension = true});
  model.continue_from(frames);
  model.gelu(conv + "gelu");
  model.add(conv + "add", frames);
  model.define_in_order(first, conv,
                        "bias parametrizations.weight.original0 parametrizations.weight.original1");
}

void run_speech_head(ModuleRecorder& model, const SpeechShape& shape, const Activation& heard) {
  switch (shape.head) {
    case SpeechHead::none:
      return;
    case SpeechHead::letters:
      model.linear("lm_head", shape.vocabulary);
      break;
    case SpeechHead::sequence:
      model.linear("projector", shape.classifier_features);
      model.continue_from({.channels = shape.classifier_features});
      model.linear("classifier", shape.labels);
      break;
    case SpeechHead::pretraining: {
      model.linear("project_hid", shape.projected_codes);
      model.continue_from(heard);
      const std::int64_t all = shape.code_groups * shape.codes;
      model.linear("quantizer.weight_proj", all);
      model.elementwise("quantizer.softmax", {.forward = 4, .backward = 5, .kernels = 3});
      model.with_parameter("quantizer.codevectors",
                           {1, all, shape.code_features / shape.code_groups});
      model.continue_from({.channels = shape.code_features, .height = heard.height});
      model.linear("project_q", shape.projected_codes);
      break;
    }
  }
  model.cross_entropy("loss");
}

}  // namespace

Model build_model(const std::string& name, const SpeechShape& shape, std::int64_t frames,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {}, attention);
  const std::string& base = shape.base;
  hear_sound(model, shape, frames);
  if (shape.projection_norm) model.layer_norm(base + "feature_projection.layer_norm");
  const Activation heard = model.activation();
  model.linear(base + "feature_projection.projection", shape.hidden);
  if (shape.dropout) model.dropout(base + "feature_projection.dropout");
  if (shape.masks) {
    model.elementwise(base + "mask", {.forward = 2, .backward = 2, .kept = 0});
    model.with_cast_parameter(base + "masked_spec_embed", {shape.hidden});
  }
  position_frames(model, shape);
  if (!shape.norm_first) model.layer_norm(base + "encoder.layer_norm");
  if (shape.dropout) model.dropout(base + "encoder.dropout");
  const BlockModules block = speech_block(shape);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    run_block(model, base + "encoder.layers." + std::to_string(layer) + ".", block);
  if (shape.norm_first) model.layer_norm(base + "encoder.layer_norm");
  run_speech_head(model, shape, heard);
  std::string order;
  for (const char* module : {"masked_spec_embed", "feature_extractor", "feature_projection",
                             "encoder.pos_conv_embed", "encoder.layer_norm", "encoder.layers"})
    order += base + module + " ";
  model.define_in_order(0, "",
                        order +
                            "quantizer.codevectors quantizer.weight_proj project_hid project_q "
                            "lm_head projector classifier");
  return std::move(model).finish();
}

}  // namespace ddpsim
