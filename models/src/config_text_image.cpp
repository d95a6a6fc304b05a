// CLIP and SigLIP. Their config.json describes a text tower and an image tower.
#include "config_images.hpp"

namespace ddpsim {
namespace {

struct TowerDefaults {
  std::int64_t hidden;
  std::int64_t feed_forward;
  std::int64_t heads;
  std::int64_t vocabulary;
  std::int64_t positions;
};

TextTower read_text_tower(Config& config, const TowerDefaults& usual, const char* order) {
  TextTower text;
  text.hidden = config.number("hidden_size", usual.hidden, kMostFeatures);
  text.layers = config.number("num_hidden_layers", 12, kMostLayers);
  const std::int64_t heads = config.number("num_attention_heads", usual.heads, kMostHeads);
  config.require_multiple("hidden_size", text.hidden, "num_attention_heads", heads);
  text.vocabulary = config.number("vocab_size", usual.vocabulary, kMostEmbeddings);
  text.positions = config.number("max_position_embeddings", usual.positions, kMostTokens);
  text.block =
      tower_block(text.hidden, heads,
                  config.number("intermediate_size", usual.feed_forward, kMostFeedForward), order);
  return text;
}

void read_text_part(Config& config, TextImageShape& shape, const TowerDefaults& usual,
                    const char* order) {
  Config text = part_of(config, "text_config");
  shape.text = read_text_tower(text, usual, order);
  for (const char* key : {"projection_dim", "projection_size"}) {
    const auto projected = text.optional_number(key, kMostFeatures);
    shape.text_projected =
        std::string_view(key) == "projection_size" ? projected.value_or(shape.text.hidden) : 0;
  }
  finish_part(config, text, "text_config");
}

void take_image_part(Config& config, TextImageShape& shape, Config& image, const ReadVision& read) {
  shape.image = read.shape;
  shape.image_size = read.image;
  finish_part(config, image, "vision_config");
  config.note("each sample has one image and one text; sSEQ is the length of the text");
}

DescribedModel clip(Config& config) {
  TextImageShape shape;
  read_text_part(config, shape, {512, 2048, 8, 49408, 77}, kClipBlock);
  Config image = part_of(config, "vision_config");
  take_image_part(config, shape, image, read_clip_tower(image, "vision_model.", kClipDefaults));
  config.architecture("Model", {"Model"});
  shape.projected = config.number("projection_dim", 512, kMostFeatures);
  for (const char* key : {"text_config_dict", "vision_config_dict"}) config.optional(key);
  return described_as(shape, shape.text.positions, shape.text.positions);
}

DescribedModel siglip(Config& config) {
  TextImageShape shape;
  read_text_part(config, shape, {768, 3072, 12, 32000, 64}, kSiglipBlock);
  Config image = part_of(config, "vision_config");
  image.require_flag("vision_use_head", true, "a tower without its pooling head is not supported");
  take_image_part(config, shape, image, read_siglip_tower(image, "vision_model.", {}));
  config.architecture("Model", {"Model"});
  return described_as(shape, shape.text.positions, shape.text.positions);
}

}  // namespace

std::vector<ConfigFamily> text_image_families() {
  return {{"clip", "CLIP", clip}, {"siglip", "Siglip", siglip}};
}

}  // namespace ddpsim
