// Reads the config.json of encoders whose attention uses the distance of tokens: DeBERTa and
// ModernBERT.
#include <fmt/format.h>

#include <algorithm>

#include "config_like_bert.hpp"

namespace ddpsim {
namespace {

/// The word embedding, and those of positions and segments if they are added to it.
void give_deberta_tables(Config& config, const BertShape& bert, std::int64_t segments,
                         EncoderShape& shape) {
  if (const auto embedded = config.optional_number("embedding_size", kMostFeatures))
    shape.embedded = *embedded == shape.hidden ? 0 : *embedded;
  if (shape.embedded > 0)
    config.refuse("embedding_size",
                  "an embedding narrower than the layers is not supported for this type",
                  "Record the job instead");
  const bool places = config.flag("position_biased_input", true);
  shape.tables = {{"word_embeddings", bert.vocabulary}};
  if (places) shape.tables.push_back({"position_embeddings", bert.positions});
  if (segments > 0) shape.tables.push_back({"token_type_embeddings", segments});
  shape.embeddings_defined.clear();
  shape.positions = {bert.positions};
}

/// How DeBERTa's attention uses distances, if it does.
struct DistanceFields {
  std::int64_t buckets = -1;
  std::int64_t most = 0;
  bool shared = false;
  /// "c2p": queries are multiplied with distances; "p2c": keys are.
  std::vector<std::string> kinds;

  bool has(const char* kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }
};

DistanceFields read_distance_fields(Config& config, std::int64_t positions) {
  DistanceFields read;
  config.refuse_null("position_buckets", "-1");
  config.refuse_null("max_relative_positions", "-1");
  config.refuse_null("norm_rel_ebd", "none");
  if (config.root().has("position_buckets"))
    read.buckets = config.optional("position_buckets")->integer(-1, kMostTokens);
  read.most = positions;
  if (const auto relative = config.optional("max_relative_positions"))
    if (const std::int64_t value = relative->integer(-1, kMostTokens); value > 0) read.most = value;
  read.shared = config.flag_or_null("share_att_key", false);
  const auto given = config.optional("pos_att_type");
  if (!given) return read;
  if (!given->is_string()) {
    read.kinds = *config.words("pos_att_type");
    return read;
  }
  const std::string text = given->string();
  for (const char* kind : {"c2p", "p2c"})
    if (text.find(kind) != std::string::npos) read.kinds.emplace_back(kind);
  return read;
}

/// Adds attention by distance. Each block projects the embeddings of the distances, with the
/// weights of queries and keys if these are shared.
void attend_by_distance(Config& config, const DistanceFields& read, EncoderShape& shape) {
  shape.distances = 2 * (read.buckets > 0 ? read.buckets : read.most);
  const std::string norm = config.word("norm_rel_ebd").value_or("none");
  shape.distance_norm = norm.find("layer_norm") != std::string::npos;
  if (!read.has("c2p") && !read.has("p2c"))
    config.refuse("pos_att_type",
                  "relative_attention is true and pos_att_type names neither c2p nor p2c: no "
                  "layer reads the distances, and rel_embeddings gets no gradient",
                  "Name c2p, p2c or both, or set relative_attention to false");
  DistanceModules distance{.rows = shape.distances, .key = {}, .query = {}, .shared = read.shared};
  if (read.has("c2p")) distance.key = {"attention.self.pos_key_proj", true};
  if (read.has("p2c")) distance.query = {"attention.self.pos_query_proj", true};
  if (!shape.distance_norm) distance.table = shape.base + "encoder.rel_embeddings.weight";
  shape.kinds.front().attention.distance = distance;
}

void read_convolution_and_pooler(Config& config, std::int64_t hidden, EncoderShape& shape) {
  if (const auto width = config.optional("conv_kernel_size"))
    shape.convolution = width->integer(0, kMostFeatures);
  if (const auto pooled = config.optional_number("pooler_hidden_size", kMostFeatures);
      pooled && *pooled != hidden)
    config.refuse(
        "pooler_hidden_size",
        fmt::format("pooler_hidden_size {} is not hidden_size {}: such a model does not run",
                    *pooled, hidden),
        "Make them equal");
  config.optional_number("conv_groups", 1);
  config.word("conv_act");
}

/// Scores that depend on distances have no fused kernel in transformers.
DescribedModel as_deberta(const EncoderShape& shape, std::int64_t positions) {
  DescribedModel described = as_described(shape, positions);
  described.attention = AttentionKernel::eager;
  return described;
}

DescribedModel deberta_v2(Config& config) {
  BertShape bert = read_bert_shape(config, 1536, 24, 24, 6144, 128100);
  const std::int64_t segments = config.count("type_vocab_size", 0, kMostEmbeddings);
  const std::string head =
      config.architecture("ForMaskedLM", {"ForMaskedLM", "Model", "ForSequenceClassification",
                                          "ForTokenClassification", "ForQuestionAnswering"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "deberta.");
  give_deberta_tables(config, bert, segments, shape);
  BlockModules& block = shape.kinds.front();
  block.attention.query.name = "attention.self.query_proj";
  block.attention.key.name = "attention.self.key_proj";
  block.attention.value.name = "attention.self.value_proj";
  const DistanceFields distances = read_distance_fields(config, bert.positions);
  if (config.flag("relative_attention", false))
    attend_by_distance(config, distances, shape);
  else if (const auto norm = config.word("norm_rel_ebd"); norm && *norm != "none")
    config.refuse("norm_rel_ebd", "a norm of distances never runs without relative_attention",
                  "Set it to none, or relative_attention to true");
  block.defined =
      "attention.self.query_proj attention.self.key_proj attention.self.value_proj "
      "attention.self.pos_key_proj attention.self.pos_query_proj attention.output.dense "
      "attention.output.LayerNorm intermediate output.dense output.LayerNorm";
  read_convolution_and_pooler(config, bert.hidden, shape);
  shape.defined = fmt::format(
      "{0}embeddings {0}encoder.layer {0}encoder.rel_embeddings {0}encoder.LayerNorm "
      "{0}encoder.conv "
      "cls.predictions.bias cls pooler classifier qa_outputs",
      shape.base);
  if (head == "Model" || token_head(config, shape, head)) return as_deberta(shape, bert.positions);
  if (head == "ForMaskedLM") {
    config.require_tied_words();
    config.require_flag("legacy", true, "the newer head of masked words is not supported");
    add_steps(shape, bert_words("cls.predictions", bert.hidden));
  } else {
    add_steps(shape, {{.kind = Step::first_token},
                      dropout_step(),
                      linear_step("pooler.dense", bert.hidden),
                      activation_step("pooler.gelu"),
                      dropout_step(),
                      linear_step("classifier", config.labels()),
                      {.kind = Step::loss}});
  }
  return as_deberta(shape, bert.positions);
}

struct ModernBertBiases {
  bool attention = false;
  bool feed_forward = false;
  bool norms = false;
};

/// A gated feed-forward, and a norm before each branch. The first block has none before its
/// attention.
void give_modernbert_blocks(EncoderShape& shape, const ModernBertBiases& biases) {
  shape.blocks_module = "layers";
  BlockModules block = shape.kinds.front();
  block.attention.rotated = block.attention.head_features;
  block.attention.query = {"attn.Wqkv", biases.attention};
  block.attention.key = block.attention.value = {};
  block.attention.output = {"attn.Wo", biases.attention};
  block.around_attention = {.before = {.name = "attn_norm", .bias = biases.norms}};
  block.feed_forward.gate_in_up = true;
  block.feed_forward.up = {"mlp.Wi", biases.feed_forward};
  block.feed_forward.down = {"mlp.Wo", biases.feed_forward};
  block.around_feed_forward = {.before = {.name = "mlp_norm", .bias = biases.norms}};
  block.defined = "attn_norm attn mlp_norm mlp";
  BlockModules first = block;
  first.around_attention.before = {};
  shape.kinds = {first, block};
  for (std::size_t layer = 1; layer < shape.layers.size(); ++layer) shape.layers[layer] = 1;
  shape.last_norm = {.name = "final_norm", .bias = biases.norms};
}

void add_modernbert_head(Config& config, EncoderShape& shape, const std::string& head,
                         bool norm_bias) {
  const bool dense_bias = config.flag("classifier_bias", false);
  const bool bias = config.flag("decoder_bias", true);
  if (head == "Model") return;
  if (head == "ForSequenceClassification") add_steps(shape, {{.kind = Step::first_token}});
  add_steps(shape, {linear_step("head.dense", shape.hidden, dense_bias),
                    activation_step("head.act"),
                    {.kind = Step::norm, .name = "head.norm", .bias = norm_bias}});
  if (head == "ForMaskedLM") {
    config.require_tied_words();
    add_steps(shape, {{.kind = Step::words, .name = bias ? "decoder.bias" : ""}});
  } else {
    if (head == "ForQuestionAnswering") config.require_span_labels();
    add_steps(shape, {dropout_step(), linear_step("classifier", config.labels())});
  }
  add_steps(shape, {{.kind = Step::loss}});
}

/// ModernBERT uses rotary positions.
DescribedModel modernbert(Config& config) {
  BertShape bert;
  bert.hidden = config.number("hidden_size", 768, kMostFeatures);
  bert.layers = config.number("num_hidden_layers", 22, kMostLayers);
  bert.heads = config.number("num_attention_heads", 12, kMostHeads);
  config.require_multiple("hidden_size", bert.hidden, "num_attention_heads", bert.heads);
  bert.feed_forward = config.number("intermediate_size", 1152, kMostFeedForward);
  bert.vocabulary = config.number("vocab_size", 50368, kMostEmbeddings);
  const std::int64_t tokens = config.number("max_position_embeddings", 8192, kMostTokens);
  ModernBertBiases biases;
  biases.attention = config.flag("attention_bias", false);
  biases.feed_forward = config.flag("mlp_bias", false);
  biases.norms = config.flag("norm_bias", false);
  bert.dropout = false;
  const std::string head =
      config.architecture("ForMaskedLM", {"ForMaskedLM", "Model", "ForSequenceClassification",
                                          "ForTokenClassification", "ForQuestionAnswering"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "model.");
  shape.tables = {{"tok_embeddings", bert.vocabulary}};
  shape.embeddings_norm = {.name = "norm", .bias = biases.norms};
  shape.embeddings_defined.clear();
  shape.positions.clear();
  give_modernbert_blocks(shape, biases);
  const std::int64_t rotated = shape.kinds.front().attention.head_features / 2;
  shape.frequencies = {rotated};
  const auto types = config.layer_types(bert.layers);
  config.optional_number("global_attn_every_n_layers", kMostLayers);
  const bool both = types ? std::ranges::count(*types, "full_attention") > 0 &&
                                std::ranges::count(*types, "sliding_attention") > 0
                          : bert.layers > 1;
  if (both) shape.frequencies.push_back(rotated);
  for (const char* key : {"local_attention", "classifier_pooling", "deterministic_flash_attn",
                          "sparse_prediction", "sparse_pred_ignore_index", "reference_compile",
                          "repad_logits_with_grad", "cls_token_id", "position_embedding_type"})
    config.optional(key);
  add_modernbert_head(config, shape, head, biases.norms);
  return described_as(shape, at_most_usual(tokens));
}

}  // namespace

std::vector<ConfigFamily> newer_encoder_families() {
  return {{"deberta-v2", "DebertaV2", deberta_v2}, {"modernbert", "ModernBert", modernbert}};
}

}  // namespace ddpsim
