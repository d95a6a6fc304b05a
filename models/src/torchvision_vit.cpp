#include "torchvision_vit.hpp"

#include "module_recorder.hpp"
#include "vision.hpp"

namespace ddpsim {
namespace {

BlockModules torchvision_vit_block(const TorchvisionVitShape& shape) {
  BlockModules block;
  block.hidden = shape.hidden;
  block.attention = {.hidden = shape.hidden,
                     .heads = shape.heads,
                     .key_heads = shape.heads,
                     .head_features = shape.hidden / shape.heads,
                     .query = {"self_attention.in_proj", true, true},
                     .output = {"self_attention.out_proj", true}};
  block.around_attention.before = {.name = "ln_1", .bias = true};
  block.feed_forward = {
      .features = shape.feed_forward, .gate = {}, .up = {"mlp.0", true}, .down = {"mlp.3", true}};
  block.around_feed_forward.before = {.name = "ln_2", .bias = true};
  return block;
}

}  // namespace

Model build_model(const std::string& name, const TorchvisionVitShape& shape, std::int64_t size,
                  AttentionKernel attention) {
  const std::int64_t side = shape.image / shape.patch;
  VisionShape vision;
  vision.hidden = shape.hidden;
  vision.patch = shape.patch;
  vision.patches = {"conv_proj", true};
  vision.tokens = {{.name = "class_token", .shape = {1, 1, shape.hidden}}};
  vision.extra_tokens = 1;
  vision.positions = "encoder.pos_embedding";
  vision.position_rows = side * side + vision.extra_tokens;
  vision.block_prefix = "encoder.layers.encoder_layer_";
  vision.block = torchvision_vit_block(shape);
  vision.layers = shape.layers;
  vision.last_norm = {.name = "encoder.ln", .bias = true};
  vision.classifiers = {"heads.head"};
  vision.labels = kImageNetClasses;
  vision.classifier_features = shape.hidden;
  vision.defined = "class_token conv_proj encoder";
  return build_model(name, vision, size, attention);
}

}  // namespace ddpsim
