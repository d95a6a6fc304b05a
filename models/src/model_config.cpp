#include "ddpsim/models/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "model_dimensions.hpp"
#include "model_shape.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kUsualTokens = 2048;

/// Of a config.json: what it says, and what its class in transformers takes where it says nothing.
class Config {
 public:
  explicit Config(const Object& root) : root_(root) {}

  std::int64_t number(std::string_view key, std::int64_t usual, std::int64_t most) {
    if (const auto value = optional_number(key, most)) return *value;
    assume(key, fmt::to_string(usual));
    return usual;
  }
  /// The first of the names it goes by.
  std::int64_t number(std::initializer_list<std::string_view> keys, std::int64_t usual,
                      std::int64_t most) {
    for (const std::string_view key : keys)
      if (root_.optional(key)) return number(key, usual, most);
    return number(*keys.begin(), usual, most);
  }
  std::optional<std::int64_t> optional_number(std::string_view key, std::int64_t most) const {
    const auto cursor = root_.optional(key);
    if (!cursor) return std::nullopt;
    return cursor->integer(1, most);
  }
  bool flag(std::string_view key, bool usual) {
    if (const auto cursor = root_.optional(key)) return cursor->boolean();
    assume(key, usual ? "true" : "false");
    return usual;
  }
  double share(std::string_view key, double usual) {
    if (const auto cursor = root_.optional(key)) return cursor->number(0, 1);
    assume(key, fmt::format("{:g}", usual));
    return usual;
  }
  std::optional<std::string> word(std::string_view key) const {
    const auto cursor = root_.optional(key);
    if (!cursor) return std::nullopt;
    return cursor->string();
  }
  bool says_null(std::string_view key) const {
    return std::ranges::any_of(root_.items(), [&](const auto& item) {
      return item.first == key && item.second.is_null();
    });
  }
  void assume(std::string_view key, std::string_view value) {
    assumed_.push_back(fmt::format("{}={}", key, value));
  }
  /// What the two fields say together cannot be.
  [[noreturn]] void refuse(std::string_view key, std::string message) const {
    (root_.optional(key) ? *root_.optional(key) : root_.cursor()).fail(std::move(message));
  }
  void require_multiple(std::string_view key, std::int64_t whole, std::string_view of,
                        std::int64_t parts) const {
    if (whole % parts != 0)
      refuse(key, fmt::format("{} {} is not a multiple of {} {}", key, whole, of, parts));
  }
  const Object& root() const { return root_; }
  std::vector<std::string> take_assumed() { return std::move(assumed_); }

 private:
  const Object& root_;
  std::vector<std::string> assumed_;
};

struct Described {
  ModelShape shape;
  std::int64_t usual_tokens = kUsualTokens;
  std::int64_t most_tokens = kMostTokens;  ///< fewer where positions are learned
  AttentionKernel attention = AttentionKernel::sdpa;
};

struct LlamaDefaults {
  std::int64_t key_heads;
  std::int64_t feed_forward;
  std::int64_t vocabulary;
  std::int64_t positions;
  std::int64_t head_features;  ///< 0: hidden over heads
};

std::int64_t at_most_usual(std::int64_t tokens) {
  return std::min(tokens, kUsualTokens);
}

Described llama_like(Config& config, const LlamaDefaults& usual) {
  LlamaShape shape;
  shape.hidden = config.number("hidden_size", 4096, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 32, kMostLayers);
  shape.heads = config.number("num_attention_heads", 32, kMostHeads);
  // A key that says null means as many as heads.
  if (config.says_null("num_key_value_heads"))
    shape.key_heads = shape.heads;
  else
    shape.key_heads = config.number(
        "num_key_value_heads", usual.key_heads > 0 ? usual.key_heads : shape.heads, kMostHeads);
  if (const auto head = config.optional_number("head_dim", kMostFeatures)) {
    shape.head_features = *head;
  } else {
    config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
    shape.head_features = shape.hidden / shape.heads;
  }
  config.require_multiple("num_attention_heads", shape.heads, "num_key_value_heads",
                          shape.key_heads);
  if (shape.head_features * shape.heads > kMostFeatures)
    config.refuse("num_attention_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  shape.feed_forward = config.number("intermediate_size", usual.feed_forward, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", usual.vocabulary, kMostWords);
  shape.tied = config.flag("tie_word_embeddings", false);
  const std::int64_t tokens = config.number("max_position_embeddings", usual.positions, kMostWords);
  return {shape, at_most_usual(tokens)};
}

Described llama(Config& config) {
  Described described = llama_like(config, {0, 11008, 32000, 2048, 0});
  LlamaShape& shape = std::get<LlamaShape>(described.shape);
  shape.qkv_bias = shape.output_bias = config.flag("attention_bias", false);
  shape.feed_forward_bias = config.flag("mlp_bias", false);
  return described;
}

Described mistral(Config& config) {
  return llama_like(config, {8, 14336, 32000, 131072, 0});
}

Described qwen2(Config& config) {
  Described described = llama_like(config, {32, 22016, 151936, 32768, 0});
  std::get<LlamaShape>(described.shape).qkv_bias = true;
  return described;
}

Described gpt2(Config& config) {
  Gpt2Shape shape;
  shape.hidden = config.number({"n_embd", "hidden_size"}, 768, kMostFeatures);
  shape.layers = config.number({"n_layer", "num_hidden_layers"}, 12, kMostLayers);
  shape.heads = config.number({"n_head", "num_attention_heads"}, 12, kMostHeads);
  config.require_multiple("n_embd", shape.hidden, "n_head", shape.heads);
  shape.feed_forward =
      config.optional_number("n_inner", kMostFeedForward).value_or(4 * shape.hidden);
  shape.vocabulary = config.number("vocab_size", 50257, kMostWords);
  shape.positions = config.number({"n_positions", "max_position_embeddings"}, 1024, kMostTokens);
  shape.tied = config.flag("tie_word_embeddings", true);
  shape.dropout = config.share("resid_pdrop", 0.1) > 0;
  shape.mask_buffers = false;
  return {shape, at_most_usual(shape.positions), shape.positions};
}

/// Of each head, a share of its features; older files name it apart.
std::int64_t rotated_features(Config& config, std::int64_t head, double usual) {
  double share = usual;
  if (const auto given = config.root().optional("rope_parameters");
      given && given->is_object() && given->free_object().has("partial_rotary_factor")) {
    share = given->free_object().required("partial_rotary_factor").number(0, 1);
  } else if (const auto older = config.root().optional("rotary_pct")) {
    share = older->number(0, 1);
  } else {
    config.assume("rotary_pct", fmt::format("{:g}", usual));
  }
  return static_cast<std::int64_t>(static_cast<double>(head) * share);
}

Described gpt_neox(Config& config) {
  GptNeoxShape shape;
  shape.hidden = config.number("hidden_size", 6144, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 44, kMostLayers);
  shape.heads = config.number("num_attention_heads", 64, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("intermediate_size", 24576, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", 50432, kMostWords);
  shape.rotated = rotated_features(config, shape.hidden / shape.heads, 0.25);
  shape.parallel = config.flag("use_parallel_residual", true);
  shape.attention_bias = config.flag("attention_bias", true);
  shape.tied = config.flag("tie_word_embeddings", false);
  return {shape, at_most_usual(config.number("max_position_embeddings", 2048, kMostWords))};
}

Described opt(Config& config) {
  OptShape shape;
  shape.hidden = config.number("hidden_size", 768, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 12, kMostLayers);
  shape.heads = config.number("num_attention_heads", 12, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("ffn_dim", 3072, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", 50272, kMostWords);
  shape.positions = config.number("max_position_embeddings", 2048, kMostTokens);
  shape.embedded =
      config.optional_number("word_embed_proj_dim", kMostFeatures).value_or(shape.hidden);
  shape.norm_first = config.flag("do_layer_norm_before", true);
  const auto no_final = config.root().optional("_remove_final_layer_norm");
  shape.final_norm = !(no_final && no_final->boolean());
  shape.bias = config.flag("enable_bias", true);
  shape.tied = config.flag("tie_word_embeddings", true);
  shape.dropout = config.share("dropout", 0.1) > 0;
  return {shape, at_most_usual(shape.positions), shape.positions};
}

Described bloom(Config& config) {
  BloomShape shape;
  shape.hidden = config.number({"hidden_size", "n_embed"}, 64, kMostFeatures);
  shape.layers = config.number({"n_layer", "num_hidden_layers"}, 2, kMostLayers);
  shape.heads = config.number({"n_head", "num_attention_heads"}, 8, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "n_head", shape.heads);
  shape.vocabulary = config.number("vocab_size", 250880, kMostWords);
  shape.tied = config.flag("tie_word_embeddings", true);
  return {.shape = shape, .attention = AttentionKernel::eager};
}

Described mpt(Config& config) {
  MptShape shape;
  shape.hidden = config.number({"d_model", "hidden_size"}, 2048, kMostFeatures);
  shape.layers = config.number({"n_layers", "num_hidden_layers"}, 24, kMostLayers);
  shape.heads = config.number({"n_heads", "num_attention_heads"}, 16, kMostHeads);
  config.require_multiple("d_model", shape.hidden, "n_heads", shape.heads);
  shape.feed_forward = shape.hidden * config.number("expansion_ratio", 4, 64);
  shape.vocabulary = config.number("vocab_size", 50368, kMostWords);
  shape.tied = config.flag("tie_word_embeddings", true);
  const std::int64_t tokens = config.number("max_seq_len", 2048, kMostWords);
  return {
      .shape = shape, .usual_tokens = at_most_usual(tokens), .attention = AttentionKernel::eager};
}

Described gptj(Config& config) {
  GptjShape shape;
  shape.hidden = config.number({"n_embd", "hidden_size"}, 4096, kMostFeatures);
  shape.layers = config.number({"n_layer", "num_hidden_layers"}, 28, kMostLayers);
  shape.heads = config.number({"n_head", "num_attention_heads"}, 16, kMostHeads);
  config.require_multiple("n_embd", shape.hidden, "n_head", shape.heads);
  shape.feed_forward =
      config.optional_number("n_inner", kMostFeedForward).value_or(4 * shape.hidden);
  shape.vocabulary = config.number("vocab_size", 50400, kMostWords);
  shape.positions = config.number({"n_positions", "max_position_embeddings"}, 2048, kMostTokens);
  shape.rotated = config.number("rotary_dim", 64, kMostFeatures);
  if (shape.rotated > shape.hidden / shape.heads)
    config.refuse("rotary_dim", fmt::format("rotary_dim {} is wider than a head, {}", shape.rotated,
                                            shape.hidden / shape.heads));
  return {shape, at_most_usual(shape.positions), shape.positions};
}

Described falcon(Config& config) {
  FalconShape shape;
  shape.hidden = config.number({"hidden_size", "n_embed"}, 4544, kMostFeatures);
  shape.layers = config.number({"num_hidden_layers", "n_layer"}, 32, kMostLayers);
  shape.heads = config.number({"num_attention_heads", "n_head"}, 71, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  const bool newer = config.flag("new_decoder_architecture", false);
  const bool one_key_head = config.flag("multi_query", true) && !newer;
  shape.key_heads = shape.heads;
  if (newer)
    shape.key_heads = config.optional_number("num_kv_heads", kMostHeads).value_or(shape.heads);
  else if (one_key_head)
    shape.key_heads = 1;
  config.require_multiple("num_attention_heads", shape.heads, "num_kv_heads", shape.key_heads);
  shape.feed_forward =
      config.optional_number("ffn_hidden_size", kMostFeedForward).value_or(4 * shape.hidden);
  shape.vocabulary = config.number("vocab_size", 65024, kMostWords);
  shape.parallel = newer || config.flag("parallel_attn", true);
  const auto norms = config.optional_number("num_ln_in_parallel_attn", 2);
  shape.two_norms = newer && norms.value_or(2) == 2;
  shape.rotary = !config.flag("alibi", false);
  shape.bias = config.flag("bias", false);
  shape.tied = config.flag("tie_word_embeddings", true);
  const std::int64_t tokens = config.number("max_position_embeddings", 2048, kMostWords);
  return {.shape = shape,
          .usual_tokens = at_most_usual(tokens),
          // One key head for many: none of PyTorch's fused kernels takes that.
          .attention = one_key_head ? AttentionKernel::eager : AttentionKernel::sdpa};
}

/// The class in "architectures"; where there is none, that of AutoModelForPreTraining.
BertHead bert_head(const Config& config) {
  constexpr std::array<std::pair<std::string_view, BertHead>, 3> kHeads = {
      {{"BertForPreTraining", BertHead::pretraining},
       {"BertForMaskedLM", BertHead::masked_words},
       {"BertModel", BertHead::pooler}}};
  const auto architectures = config.root().optional("architectures");
  if (!architectures || architectures->array().empty()) return BertHead::pretraining;
  const std::string name = architectures->array().front().string();
  std::vector<std::string> known;
  for (const auto& [one, head] : kHeads) {
    if (one == name) return head;
    known.emplace_back(one);
  }
  architectures->array().front().fail(
      fmt::format("{} is not known here", in_quotes(name)),
      fmt::format("Known are {}: take the nearest", fmt::join(known, ", ")));
}

Described bert(Config& config) {
  BertShape shape;
  shape.hidden = config.number("hidden_size", 768, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 12, kMostLayers);
  shape.heads = config.number("num_attention_heads", 12, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("intermediate_size", 3072, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", 30522, kMostWords);
  shape.positions = config.number("max_position_embeddings", 512, kMostTokens);
  shape.segments = config.number("type_vocab_size", 2, kMostWords);
  shape.dropout = config.share("hidden_dropout_prob", 0.1) > 0;
  shape.head = bert_head(config);
  return {shape, std::min<std::int64_t>(shape.positions, 512), shape.positions};
}

Described t5(Config& config) {
  T5Shape shape;
  shape.hidden = config.number("d_model", 512, kMostFeatures);
  shape.head_features = config.number("d_kv", 64, kMostFeatures);
  shape.heads = config.number("num_heads", 8, kMostHeads);
  shape.layers = config.number("num_layers", 6, kMostLayers);
  shape.decoder_layers =
      config.optional_number("num_decoder_layers", kMostLayers).value_or(shape.layers);
  if (shape.head_features * shape.heads > kMostFeatures)
    config.refuse("num_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  shape.feed_forward = config.number("d_ff", 2048, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", 32128, kMostWords);
  shape.distances = config.number("relative_attention_num_buckets", 32, kMostWords);
  const std::optional<std::string> activation = config.word("feed_forward_proj");
  if (!activation) config.assume("feed_forward_proj", "relu");
  shape.gated = activation && activation->starts_with("gated-");
  shape.dropout = config.share("dropout_rate", 0.1) > 0;
  // The scores' bias has a gradient, which needs the scores.
  return {.shape = shape, .usual_tokens = 512, .attention = AttentionKernel::eager};
}

struct Family {
  std::string_view model_type;
  Described (*read)(Config& config);
};

constexpr Family kFamilies[] = {
    {"llama", llama},       {"mistral", mistral}, {"qwen2", qwen2}, {"gpt2", gpt2},
    {"gpt_neox", gpt_neox}, {"opt", opt},         {"bloom", bloom}, {"mpt", mpt},
    {"gptj", gptj},         {"falcon", falcon},   {"bert", bert},   {"t5", t5},
};

}  // namespace

std::vector<std::string> config_model_types() {
  std::vector<std::string> types;
  for (const Family& family : kFamilies) types.emplace_back(family.model_type);
  return types;
}

ModelDescription model_of_config(std::string_view content, const std::string& file) {
  const Document document = Document::parse(content, file);
  const Object root = document.root().free_object();
  const Cursor type = root.required("model_type");
  const std::string name = type.string();
  const auto* family = std::ranges::find(kFamilies, name, &Family::model_type);
  if (family == std::end(kFamilies))
    type.fail(fmt::format("no model of type {} is known here", in_quotes(name)),
              did_you_mean_or_known(name, config_model_types()));
  Config config(root);
  const Described read = family->read(config);
  ModelDescription description = described(
      file, read.shape, {.batch = 1, .size = read.usual_tokens, .most_tokens = read.most_tokens},
      read.attention);
  description.source =
      fmt::format("config.json of model_type {}, as transformers 5 builds it", name);
  description.assumed = config.take_assumed();
  return description;
}

}  // namespace ddpsim
