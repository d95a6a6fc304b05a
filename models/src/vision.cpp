#include "vision.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

/// Puts the tokens in front of the patches.
void join_tokens(ModuleRecorder& model, const VisionShape& shape, bool behind_positions) {
  bool any = false;
  // The last token joins last, so its gradient is written first.
  for (auto token = shape.tokens.rbegin(); token != shape.tokens.rend(); ++token) {
    if (token->behind_positions != behind_positions) continue;
    if (!any) model.elementwise(shape.base + token->name, {.forward = 2, .backward = 2, .kept = 0});
    any = true;
    model.with_parameter(shape.base + token->name, token->shape);
  }
}

/// Projects the patches. Each patch becomes one token.
void project_patches(ModuleRecorder& model, const VisionShape& shape, std::int64_t size) {
  const std::string name = shape.base + shape.patches.name;
  if (shape.rows > 0) {
    std::int64_t features = 1;
    for (std::size_t k = 1; k < shape.row_weight.size(); ++k) features *= shape.row_weight[k];
    model.continue_from(
        {.channels = features, .height = shape.images * shape.rows, .single = true});
    model.convolve_rows(name, shape.row_weight, shape.patches.bias);
    return;
  }
  model.continue_from(
      {.channels = shape.channels, .height = shape.images * size, .width = size, .single = true});
  model.conv2d(name, {.out = shape.hidden,
                      .kernel = {.height = shape.patch, .width = shape.patch},
                      .stride = shape.patch,
                      .bias = shape.patches.bias});
}

void read_text(ModuleRecorder& model, const std::string& base, const TextTower& text,
               std::int64_t tokens) {
  model.continue_from({.height = tokens});
  const std::size_t words =
      model.embedding(base + "embeddings.token_embedding", text.vocabulary, text.hidden);
  const std::size_t positions =
      model.embedding(base + "embeddings.position_embedding", text.positions, text.hidden);
  model.look_up(words);
  model.look_up(positions);
  model.add(base + "embeddings.add", model.activation());
  for (std::int64_t layer = 0; layer < text.layers; ++layer)
    run_block(model, base + "encoder.layers." + std::to_string(layer) + ".", text.block);
  model.layer_norm(base + "final_layer_norm");
}

}  // namespace

void embed_patches(ModuleRecorder& model, const VisionShape& shape, std::int64_t size) {
  const std::string& base = shape.base;
  project_patches(model, shape, size);
  const std::int64_t patches = model.activation().positions();
  model.continue_from(
      {.channels = shape.hidden, .height = patches + shape.images * shape.extra_tokens});
  join_tokens(model, shape, false);
  const Activation patched = model.activation();
  if (!shape.position_table.empty()) {
    model.look_up(model.embedding(base + shape.position_table, shape.position_rows, shape.hidden));
    model.add(base + shape.position_table + ".add", patched);
  } else if (!shape.positions.empty()) {
    model.elementwise(base + "embeddings.add_positions", {.forward = 2, .backward = 2, .kept = 0});
    model.with_parameter(base + shape.positions,
                         {shape.position_sets, shape.position_rows, shape.hidden});
  }
  join_tokens(model, shape, true);
  run_norm(model, base, shape.first_norm);
  if (!shape.shared_scores.empty())
    model.look_up_for_scores(
        model.table(base + shape.shared_scores, shape.score_rows, shape.score_heads),
        model.activation().positions() * model.activation().positions());
}

void run_vision(ModuleRecorder& model, const VisionShape& shape, std::int64_t size) {
  embed_patches(model, shape, size);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) run_vision_block(model, shape, layer);
}

void run_vision_block(ModuleRecorder& model, const VisionShape& shape, std::int64_t layer) {
  BlockModules block = shape.block;
  if (!shape.windows.empty())
    block.attention.window = shape.windows[static_cast<std::size_t>(layer)];
  run_block(model, shape.base + shape.block_prefix + std::to_string(layer) + ".", block);
}

void pool_by_attention(ModuleRecorder& model, const VisionShape& shape) {
  const std::string head = shape.base + "head.";
  const std::int64_t hidden = shape.hidden;
  const Activation patches = model.activation();
  model.elementwise(head + "probe.repeat", {.forward = 1, .backward = 1, .kept = 0});
  model.with_parameter(head + "probe", {1, 1, hidden});
  model.linear_of(head + "attention.in_proj_weight", head + "attention.in_proj_bias", 3 * hidden);
  model.continue_from({.channels = hidden});
  model.attention(head + "attention",
                  {.heads = shape.block.attention.heads, .keys = patches.positions()});
  model.linear(head + "attention.out_proj", hidden);
  const Activation attended = model.activation();
  model.layer_norm(head + "layernorm");
  model.linear(head + "mlp.fc1", shape.block.feed_forward.features);
  model.gelu(head + "mlp.activation_fn");
  model.linear(head + "mlp.fc2", hidden);
  model.add(head + "add", attended);
}

void run_last_norm(ModuleRecorder& model, const VisionShape& shape) {
  if (shape.norms_first_token) model.continue_from({.channels = shape.hidden});
  run_norm(model, shape.base, shape.last_norm);
}

std::string definition_order(const VisionShape& shape) {
  std::string order;
  for (std::size_t begin = 0; begin < shape.defined.size();) {
    const std::size_t end = std::min(shape.defined.find(' ', begin), shape.defined.size());
    order += shape.base + shape.defined.substr(begin, end - begin) + " ";
    begin = end + 1;
  }
  return order;
}

Model build_model(const std::string& name, const VisionShape& shape, std::int64_t size,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {}, attention);
  run_vision(model, shape, size);
  if (shape.pooled_norm) model.continue_from({.channels = shape.hidden});
  run_norm(model, shape.base, shape.last_norm);
  const Activation first_token = {.channels = shape.hidden};
  if (!shape.pooler.empty()) {
    model.continue_from(first_token);
    model.linear(shape.base + shape.pooler, shape.pooler_features);
    model.relu(shape.base + "pooler.tanh");
  }
  for (const std::string& classifier : shape.classifiers) {
    model.continue_from({.channels = shape.classifier_features});
    model.linear(classifier, shape.labels);
  }
  if (!shape.classifiers.empty()) model.cross_entropy("loss");
  std::string order = definition_order(shape);
  for (const std::string& classifier : shape.classifiers) order += classifier + " ";
  model.define_in_order(0, "", order);
  return std::move(model).finish();
}

Model build_model(const std::string& name, const TextImageShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {}, attention);
  const bool projects = shape.projected > 0;
  const VisionShape& image = shape.image;
  run_vision(model, image, shape.image_size);
  run_last_norm(model, image);
  if (image.attention_pooling) pool_by_attention(model, image);
  if (projects) model.linear("visual_projection", shape.projected, false);
  const std::string text = "text_model.";
  read_text(model, text, shape.text, tokens);
  model.continue_from({.channels = shape.text.hidden});
  if (projects)
    model.linear("text_projection", shape.projected, false);
  else
    model.linear(text + "head", shape.text_projected);
  model.elementwise("logits", {.forward = 2, .backward = 3, .kernels = 2});
  if (!projects) model.with_parameter("logit_bias", {1});
  model.with_parameter("logit_scale",
                       projects ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1});
  model.cross_entropy("loss");
  model.buffer(Dtype::int64, shape.text.positions);  // position_ids of both towers
  model.buffer(Dtype::int64, image.position_rows);
  model.define_in_order(0, "",
                        "logit_scale logit_bias text_model " + definition_order(image) +
                            "visual_projection text_projection");
  return std::move(model).finish();
}

}  // namespace ddpsim
