#include "vision_language.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

/// Runs the whole tower. Backward reaches only the parts whose output is read. The activation
/// becomes the features.
void look(ModuleRecorder& model, const VisionLanguageShape& shape) {
  const VisionShape& tower = shape.tower;
  const std::int64_t last_read = std::ranges::max(shape.read_behind);
  embed_patches(model, tower, shape.image);
  for (std::int64_t layer = 0; layer < last_read; ++layer) run_vision_block(model, tower, layer);
  std::size_t read = model.layers();
  Activation features = model.activation();
  for (std::int64_t layer = last_read; layer < tower.layers; ++layer)
    run_vision_block(model, tower, layer);
  run_last_norm(model, tower);
  if (shape.reads_norm) read = model.layers();
  if (tower.attention_pooling) pool_by_attention(model, tower);
  model.leave_unread(read);
  if (shape.skips_first_token)
    features.height = std::max<std::int64_t>(features.height - tower.images, 1);
  model.continue_from(features);
  const auto parts = static_cast<std::int64_t>(shape.read_behind.size());
  if (parts > 1) model.concatenate(tower.base + "features.cat", parts * features.channels);
}

void run_step(ModuleRecorder& model, const ProjectorStep& step) {
  Activation joined = model.activation();
  switch (step.kind) {
    case ProjectorStep::Kind::linear:
      return model.linear(step.name, step.out, step.bias);
    case ProjectorStep::Kind::matrix:
      return model.matmul(step.name, step.out);
    case ProjectorStep::Kind::norm:
      return run_norm(model, "", step.norm);
    case ProjectorStep::Kind::gelu:
      return model.gelu(step.name);
    case ProjectorStep::Kind::join:
      joined.channels *= step.factor;
      [[fallthrough]];
    case ProjectorStep::Kind::pool:
      joined.height = std::max<std::int64_t>(joined.positions() / step.factor, 1);
      joined.width = 1;
      model.elementwise(step.name, {.forward = 2, .backward = 2, .kept = 0});
      model.continue_from(joined);
  }
}

/// Definition order of a model's parts. Parts that a type lacks are skipped.
std::string order_of_parts(const VisionLanguageShape& shape) {
  return shape.newline + " " + definition_order(shape.tower) +
         "model.visual.merger model.multi_modal_projector.mm_input_projection_weight "
         "model.multi_modal_projector model.connector model.language_model model.text_model "
         "model.embed_vision lm_head";
}

}  // namespace

std::int64_t image_tokens(const VisionLanguageShape& shape) {
  const VisionShape& tower = shape.tower;
  const std::int64_t side = tower.rows > 0 ? 0 : shape.image / tower.patch;
  std::int64_t tokens = tower.rows > 0 ? tower.rows : side * side;
  tokens += tower.extra_tokens - (shape.skips_first_token ? 1 : 0);
  tokens *= tower.images;
  for (const ProjectorStep& step : shape.projector) tokens /= step.factor;
  return std::max<std::int64_t>(tokens, 1);
}

bool leaves_unread(const VisionLanguageShape& shape) {
  const VisionShape& tower = shape.tower;
  return std::ranges::max(shape.read_behind) < tower.layers || tower.attention_pooling ||
         (tower.last_norm.exists() && !shape.reads_norm);
}

Model build_model(const std::string& name, const VisionLanguageShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const DecoderShape& text = shape.text;
  const std::size_t words = look_up_words(model, text);
  const Activation embedded = model.activation();
  model.begin_input({});
  look(model, shape);
  for (const ProjectorStep& step : shape.projector) run_step(model, step);
  if (!shape.newline.empty()) {
    model.elementwise("image_newline.cat", {.forward = 2, .backward = 2, .kept = 0});
    model.with_parameter(shape.newline, {text.hidden});
  }
  model.end_input();
  model.continue_from(embedded);
  model.elementwise("image_features.scatter", {.forward = 3, .backward = 3, .kept = 0});
  run_decoder(model, text);
  run_decoder_head(model, text.head,
                   {.words = words, .vocabulary = text.vocabulary, .tied = text.tied});
  for (const std::int64_t elements : shape.tower.places) model.buffer(Dtype::int64, elements);
  for (const std::int64_t elements : shape.tower.single_buffers)
    model.buffer(Dtype::float32, elements);
  model.define_in_order(0, "", order_of_parts(shape));
  Model whole = std::move(model).finish();
  if (text.head.kind == HeadKind::none) rename_base(whole, "model.", "");
  return whole;
}

}  // namespace ddpsim
