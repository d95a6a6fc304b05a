// Reads the config.json of decoders that also read images: a tower (vision_config), a projector and
// a text model (text_config).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config_towers.hpp"
#include "ddpsim/formats/quote.hpp"
#include "vision_language.hpp"

namespace ddpsim {
namespace {

using Does = ProjectorStep::Kind;
constexpr const char* kProjector = "model.multi_modal_projector.";
constexpr std::int64_t kMostMergeSide = 64;

/// Differences between the parts of model types.
struct PartTypes {
  std::string_view text;  ///< if text_config names none
  bool tied = false;      ///< if the file does not say
  /// The output layer is also tied if only text_config says so.
  bool text_ties = false;
  const char* text_base = "model.language_model.";
};

struct ReadParts {
  VisionLanguageShape shape;
  DescribedModel text;
  std::string head;
};

/// Whether the whole model and its text model tie the output layer. If they disagree, a note says
/// which one counts.
bool read_tied(Config& config, const Object& text, bool text_tied, const PartTypes& types) {
  constexpr const char* kKey = "tie_word_embeddings";
  config.refuse_null(kKey, types.tied ? "true" : "false");
  const auto outer = config.optional(kKey);
  const auto inner = text.optional(kKey);
  bool tied = outer ? outer->boolean() : types.tied;
  if (types.text_ties && text_tied) tied = true;
  if (inner && inner->boolean() != tied)
    config.note(fmt::format("{}: {} of the whole file counts, {} in text_config does not", kKey,
                            tied, !tied));
  if (outer && outer->boolean() != tied)
    config.note(fmt::format("{}: {} in text_config counts, {} of the whole file does not", kKey,
                            tied, !tied));
  if (!outer && !inner) config.assume(kKey, tied ? "true" : "false");
  return tied;
}

ConfigFamily text_family(const Config& config, const Object& text, std::string_view usual) {
  const auto named = text.optional("model_type");
  const std::string type = named ? named->string() : std::string(usual);
  for (const auto& families : {decoder_families(), part_families(), older_decoder_families()})
    for (const ConfigFamily& family : families)
      if (family.model_type == type) return family;
  if (named)
    named->fail(fmt::format("a text model of type {} is not supported", in_quotes(type)),
                "Record the job instead");
  config.refuse("text_config", fmt::format("{} is not supported", in_quotes(type)));
}

/// Files of Qwen2-VL may have no text_config, with the text's fields next to vision_config.
bool is_flat(const Config& config) {
  return config.root().has("vision_config") && !config.root().has("text_config") &&
         config.root().has("num_hidden_layers");
}

DescribedModel read_text(Config& config, const PartTypes& types) {
  if (is_flat(config)) {
    config.becomes_part();
    for (const ConfigFamily& family : part_families())
      if (family.model_type == types.text) return family.read(config);
  }
  Config text = part_of(config, "text_config");
  const ConfigFamily family = text_family(config, text.root(), types.text);
  text.becomes_part();
  text.know(family.aliases);
  text.optional("num_image_tokens");  // read only by the processor
  DescribedModel described = family.read(text);
  finish_part(config, text, "text_config");
  // Some files repeat fields of the text outside text_config, where no class reads them.
  for (const auto& [key, value] : text.root().items()) config.optional(key);
  if (!described.decoder)
    text.refuse("model_type",
                fmt::format("a text model of type {} is not supported together with a tower",
                            in_quotes(family.model_type)),
                "Record the job instead");
  return described;
}

/// Reads the class and the text. The tower and the projector follow.
ReadParts read_parts(Config& config, const PartTypes& types) {
  ReadParts read;
  read.head =
      config.architecture("ForConditionalGeneration", {"ForConditionalGeneration", "Model"});
  const bool flat = is_flat(config);
  read.text = read_text(config, types);
  DecoderShape& text = read.shape.text = *read.text.decoder;
  text.base = types.text_base;
  text.head = {.kind = read.head == "Model" ? HeadKind::none : HeadKind::words, .module = {}};
  text.tied = flat ? text.tied
                   : read_tied(config, config.root().required("text_config").free_object(),
                               text.tied, types);
  return read;
}

/// Adds the tower, all of whose blocks are read.
void take_tower(VisionLanguageShape& shape, const ReadVision& read) {
  shape.tower = read.shape;
  shape.image = read.image;
  shape.read_behind = {read.shape.layers};
}

/// The blocks whose features the projector reads: one or several. Negative numbers count from the
/// end.
void read_feature_layers(Config& config, VisionLanguageShape& shape, std::int64_t usual) {
  constexpr std::size_t kMostRead = 64;
  const std::int64_t layers = shape.tower.layers;
  shape.read_behind.clear();
  config.refuse_null("vision_feature_layer", fmt::to_string(usual));
  const auto given = config.optional("vision_feature_layer");
  const auto take = [&](std::int64_t layer) {
    const std::int64_t behind = layer < 0 ? layers + 1 + layer : layer;
    if (behind < 0 || behind > layers)
      config.refuse("vision_feature_layer",
                    fmt::format("a tower of {} blocks has no features {}", layers, layer));
    shape.read_behind.push_back(behind);
  };
  if (!given) {
    config.assume("vision_feature_layer", fmt::to_string(usual));
    take(usual);
  } else if (given->is_array()) {
    for (const Cursor& one : given->array()) take(one.integer(-kMostLayers, kMostLayers));
  } else {
    take(given->integer(-kMostLayers, kMostLayers));
  }
  if (shape.read_behind.empty() || shape.read_behind.size() > kMostRead)
    config.refuse("vision_feature_layer", fmt::format("1 to {} layers are expected", kMostRead));
}

/// The path of the tower for frozen=.
std::string tower_path(const ReadParts& read) {
  std::string path = read.shape.tower.base;
  path.pop_back();
  return read.head == "Model" ? path.substr(std::string_view("model.").size()) : path;
}

/// Doubles the length until the image fits together with the same number of words.
std::int64_t usual_tokens(const DescribedModel& text, std::int64_t image_tokens) {
  std::int64_t tokens = text.usual_size;
  while (tokens < 2 * image_tokens && tokens < text.most_tokens) tokens *= 2;
  return std::min(tokens, text.most_tokens);
}

DescribedModel finish(Config& config, ReadParts& read) {
  const VisionLanguageShape& shape = read.shape;
  const std::string path = tower_path(read);
  const std::int64_t tokens = image_tokens(shape);
  const std::int64_t tiles = shape.tower.images;
  config.note(fmt::format("each sample has one image{}: {} of the tokens that sSEQ counts",
                          tiles > 1 ? fmt::format(" of {} tiles", tiles) : "", tokens));
  config.note(fmt::format(
      "all parameters train unless frozen= names them; frozen={} freezes the tower", path));
  if (leaves_unread(shape))
    config.note(fmt::format(
        "some parameters of {} get no gradient because nothing reads their output; unless they "
        "are frozen, DDP needs find_unused_parameters=True",
        path));
  DescribedModel described =
      described_as(shape, usual_tokens(read.text, tokens), read.text.most_tokens);
  described.image_tokens = tokens;
  return described;
}

void require_same_width(const Config& config, const char* key, std::int64_t projected,
                        std::int64_t text) {
  if (projected != text)
    config.refuse(key,
                  fmt::format("image tokens have {} features, but words have {}", projected, text));
}

/// Fields of the whole model that no module reads.
void skip_tokens(Config& config) {
  for (const char* key :
       {"image_seq_length", "ignore_index", "vocab_size", "hidden_size", "mm_tokens_per_image",
        "use_image_newline_parameter", "num_image_tokens", "image_grid_pinpoints",
        "vision_soft_tokens_per_image", "vision_feature_select_strategy", "vision_feature_layer"})
    config.optional(key);
}

/// Two Linears with a GELU between them.
void project_twice(Config& config, ReadParts& read, bool usual_bias) {
  const bool bias = config.flag("multimodal_projector_bias", usual_bias);
  const std::string name = kProjector;
  const std::int64_t hidden = read.shape.text.hidden;
  read.shape.projector.push_back(
      {.name = name + "linear_1", .out = hidden, .bias = bias, .norm = {}});
  read.shape.projector.push_back({.kind = Does::gelu, .name = name + "act", .norm = {}});
  read.shape.projector.push_back(
      {.name = name + "linear_2", .out = hidden, .bias = bias, .norm = {}});
}

ReadParts read_llava(Config& config, const PartTypes& types) {
  ReadParts read = read_parts(config, types);
  Config vision = part_of(config, "vision_config");
  take_tower(read.shape, read_tower_of_type(vision, "model.vision_tower.", "clip_vision_model"));
  finish_part(config, vision, "vision_config");
  read_feature_layers(config, read.shape, -2);
  const std::string strategy = config.word("vision_feature_select_strategy", "default");
  if (strategy != "default" && strategy != "full")
    config.refuse("vision_feature_select_strategy", "\"default\" or \"full\" is expected");
  read.shape.skips_first_token = strategy == "default";
  project_twice(config, read, true);
  skip_tokens(config);
  return read;
}

DescribedModel llava(Config& config) {
  ReadParts read = read_llava(config, {.text = "llama", .text_ties = true});
  return finish(config, read);
}

/// Tiles of an image of the first listed size, plus the whole image.
std::int64_t read_tiles(Config& config, std::int64_t image) {
  constexpr std::int64_t kMostTiles = 1'000;
  std::int64_t tiles = 2;
  if (const auto sizes = config.optional("image_grid_pinpoints")) {
    const std::vector<Cursor> first =
        sizes->array().empty() ? std::vector<Cursor>() : sizes->array().front().array();
    if (first.size() != 2) sizes->fail("a list of sizes is expected, as [[336, 672], [672, 336]]");
    tiles = 1;
    for (const Cursor& side : first)
      tiles *= std::max<std::int64_t>(side.integer(1, kMostPixels * kMostTiles) / image, 1);
    if (tiles > kMostTiles) sizes->fail(fmt::format("an image of more than {} tiles", kMostTiles));
  } else {
    config.assume("image_grid_pinpoints", "[[336,672]]");
  }
  return tiles + 1;
}

DescribedModel llava_next(Config& config) {
  ReadParts read = read_llava(config, {.text = "llama"});
  read.shape.newline = "model.image_newline";
  VisionShape& tower = read.shape.tower;
  tower.images = read_tiles(config, read.shape.image);
  const std::int64_t side = read.shape.image / tower.patch;
  tower.block.attention.window = side * side + tower.extra_tokens;
  return finish(config, read);
}

DescribedModel gemma3_whole(Config& config) {
  ReadParts read = read_parts(config, {.text = "gemma3_text", .tied = true});
  Config vision = part_of(config, "vision_config");
  const ReadVision tower = read_tower_of_type(vision, "model.vision_tower.", "siglip_vision_model");
  finish_part(config, vision, "vision_config");
  take_tower(read.shape, tower);
  read.shape.reads_norm = true;
  const std::int64_t tokens = config.number("mm_tokens_per_image", 256, kMostTokens);
  const std::int64_t side = tower.image / tower.shape.patch;
  const std::int64_t pooled = side / static_cast<std::int64_t>(std::sqrt(tokens));
  if (pooled < 1)
    config.refuse(
        "mm_tokens_per_image",
        fmt::format("an image of {} patches does not become {} tokens", side * side, tokens));
  const std::string name = kProjector;
  read.shape.projector = {
      {.kind = Does::pool, .name = name + "avg_pool", .norm = {}, .factor = pooled * pooled},
      {.kind = Does::norm, .norm = {.name = name + "mm_soft_emb_norm", .kind = NormKind::rms}},
      {.kind = Does::matrix,
       .name = name + "mm_input_projection_weight",
       .out = read.shape.text.hidden,
       .norm = {}}};
  skip_tokens(config);
  return finish(config, read);
}

DescribedModel gemma4_whole(Config& config) {
  if (const auto audio = config.optional("audio_config"))
    audio->fail(
        "a tower for sound is not supported",
        "Write null for audio_config if your model is trained without it; or record the job");
  ReadParts read = read_parts(config, {.text = "gemma4_text", .tied = true});
  const std::int64_t tokens = config.number("vision_soft_tokens_per_image", 280, kMostTokens);
  Config vision = part_of(config, "vision_config");
  take_tower(read.shape, read_gemma4_tower(vision, "model.vision_tower.", tokens));
  finish_part(config, vision, "vision_config");
  const std::string name = "model.embed_vision.";
  read.shape.projector = {
      {.kind = Does::pool,
       .name = "model.vision_tower.pooler",
       .norm = {},
       .factor = read.shape.tower.rows / tokens},
      {.kind = Does::norm,
       .norm = {.name = name + "embedding_pre_projection_norm",
                .kind = NormKind::rms,
                .weight = false}},
      {.name = name + "embedding_projection", .out = read.shape.text.hidden, .norm = {}}};
  skip_tokens(config);
  return finish(config, read);
}

DescribedModel paligemma(Config& config) {
  ReadParts read = read_parts(config, {.text = "gemma", .tied = true});
  Config vision = part_of(config, "vision_config");
  take_tower(read.shape, read_tower_of_type(vision, "model.vision_tower.", "siglip_vision_model"));
  finish_part(config, vision, "vision_config");
  read.shape.reads_norm = true;
  const std::int64_t projected = config.number("projection_dim", 2048, kMostFeatures);
  require_same_width(config, "projection_dim", projected, read.shape.text.hidden);
  read.shape.projector = {
      {.name = std::string(kProjector) + "linear", .out = projected, .bias = true, .norm = {}}};
  skip_tokens(config);
  return finish(config, read);
}

std::int64_t read_merge(Config& config, const char* key, std::int64_t hidden) {
  const std::int64_t side = config.number(key, 2, kMostMergeSide);
  if (side * side > kMostFeatures / hidden)
    config.refuse(key, "the patches that become one token are too many");
  return side * side;
}

DescribedModel mistral3(Config& config) {
  ReadParts read = read_parts(config, {.text = "mistral", .tied = true});
  Config vision = part_of(config, "vision_config");
  take_tower(read.shape, read_tower_of_type(vision, "model.vision_tower.", "pixtral"));
  finish_part(config, vision, "vision_config");
  read_feature_layers(config, read.shape, -1);
  if (read.shape.read_behind.size() > 1)
    config.refuse("vision_feature_layer", "features of several layers are not supported");
  const std::int64_t hidden = read.shape.tower.hidden;
  const std::string name = kProjector;
  read.shape.projector = {
      {.kind = Does::norm, .norm = {.name = name + "norm", .kind = NormKind::rms}},
      {.kind = Does::join,
       .name = name + "patch_merger.unfold",
       .norm = {},
       .factor = read_merge(config, "spatial_merge_size", hidden)},
      {.name = name + "patch_merger.merging_layer", .out = hidden, .norm = {}}};
  project_twice(config, read, false);
  skip_tokens(config);
  return finish(config, read);
}

DescribedModel smolvlm(Config& config) {
  ReadParts read = read_parts(config, {.text = "llama", .text_base = "model.text_model."});
  Config vision = part_of(config, "vision_config");
  take_tower(read.shape, read_smolvlm_tower(vision, "model.vision_model."));
  finish_part(config, vision, "vision_config");
  read.shape.reads_norm = true;
  const std::string name = "model.connector.";
  read.shape.projector = {
      {.kind = Does::join,
       .name = name + "pixel_shuffle",
       .norm = {},
       .factor = read_merge(config, "scale_factor", read.shape.tower.hidden)},
      {.name = name + "modality_projection.proj", .out = read.shape.text.hidden, .norm = {}}};
  skip_tokens(config);
  return finish(config, read);
}

DescribedModel read_qwen_vl(Config& config, const PartTypes& types, NormKind norm,
                            ReadQwenTower (*read_tower)(Config& config, const std::string& base)) {
  ReadParts read = read_parts(config, types);
  Config vision = part_of(config, "vision_config");
  const ReadQwenTower tower = read_tower(vision, "model.visual.");
  finish_part(config, vision, "vision_config");
  take_tower(read.shape, tower.tower);
  require_same_width(config, "vision_config", tower.out, read.shape.text.hidden);
  const std::int64_t joined = tower.merged * tower.tower.shape.hidden;
  const std::string name = "model.visual.merger.";
  read.shape.projector = {
      {.kind = Does::norm,
       .norm = {.name = name + "ln_q", .kind = norm, .bias = norm == NormKind::layer}},
      {.kind = Does::join, .name = name + "join", .norm = {}, .factor = tower.merged},
      {.name = name + "mlp.0", .out = joined, .bias = true, .norm = {}},
      {.kind = Does::gelu, .name = name + "mlp.1", .norm = {}},
      {.name = name + "mlp.2", .out = tower.out, .bias = true, .norm = {}}};
  skip_tokens(config);
  return finish(config, read);
}

DescribedModel qwen2_vl(Config& config) {
  return read_qwen_vl(config, {.text = "qwen2_vl_text", .text_ties = true}, NormKind::layer,
                      read_qwen2_vl_tower);
}

DescribedModel qwen2_5_vl(Config& config) {
  return read_qwen_vl(config, {.text = "qwen2_5_vl_text", .text_ties = true}, NormKind::rms,
                      read_qwen2_5_vl_tower);
}

}  // namespace

std::vector<ConfigFamily> vision_language_families() {
  return {{"llava", "Llava", llava},
          {"llava_next", "LlavaNext", llava_next},
          {"gemma3", "Gemma3", gemma3_whole},
          {"gemma4", "Gemma4", gemma4_whole},
          {"paligemma", "PaliGemma", paligemma},
          {"mistral3", "Mistral3", mistral3},
          {"smolvlm", "SmolVLM", smolvlm},
          {"idefics3", "Idefics3", smolvlm},
          {"qwen2_vl", "Qwen2VL", qwen2_vl},
          {"qwen2_5_vl", "Qwen2_5_VL", qwen2_5_vl}};
}

}  // namespace ddpsim
