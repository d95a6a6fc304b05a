// Reads the config.json of models with an encoder and a decoder: T5, mT5, BART, mBART, Pegasus,
// Marian and Whisper.
#include <fmt/format.h>

#include <algorithm>

#include "bart.hpp"
#include "config_fields.hpp"
#include "t5.hpp"

namespace ddpsim {
namespace {

DescribedModel read_t5(Config& config, const T5Shape& usual, std::string_view usual_activation) {
  T5Shape shape;
  shape.hidden = config.number("d_model", usual.hidden, kMostFeatures);
  shape.head_features = config.number("d_kv", usual.head_features, kMostFeatures);
  shape.heads = config.number("num_heads", usual.heads, kMostHeads);
  shape.layers = config.number("num_layers", usual.layers, kMostLayers);
  // If it is missing, it copies num_layers before the alias of num_layers is applied.
  shape.decoder_layers =
      config.optional_number("num_decoder_layers", kMostLayers)
          .value_or(config.root().has("num_layers") ? shape.layers : usual.layers);
  if (shape.head_features * shape.heads > kMostFeatures)
    config.refuse("num_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  shape.feed_forward = config.number("d_ff", usual.feed_forward, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", usual.vocabulary, kMostEmbeddings);
  shape.distances = config.number("relative_attention_num_buckets", 32, kMostEmbeddings);
  for (const char* key : {"relative_attention_max_distance", "n_positions", "is_gated_act",
                          "dense_act_fn", "scale_decoder_outputs"})
    config.optional(key);
  const std::string activation = config.word("feed_forward_proj", usual_activation);
  shape.gated = activation.starts_with("gated-");
  config.refuse_null("is_gated_act", shape.gated ? "true" : "false");
  if (const auto gated = config.optional("is_gated_act"); gated && gated->boolean() != shape.gated)
    gated->fail(fmt::format("is_gated_act contradicts feed_forward_proj, {}", activation),
                "Take is_gated_act out: feed_forward_proj decides");
  config.require_flag("is_decoder", false, "a decoder without an encoder is not supported");
  shape.dropout = config.share("dropout_rate", 0.1) > 0;
  if (const auto tied = config.optional("tie_word_embeddings"); tied && !tied->boolean())
    config.note(
        "tie_word_embeddings: false is overruled: transformers 5 ties T5's output layer to the "
        "embedding "
        "(transformers 4 gave it a weight of its own)");
  const std::string head = config.architecture(
      "ForConditionalGeneration",
      {"ForConditionalGeneration", "WithLMHeadModel", "Model", "EncoderModel",
       "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"});
  if (head == "Model") shape.head = T5Head::none;
  if (head == "EncoderModel") shape.head = T5Head::encoder;
  if (head == "ForSequenceClassification") shape.head = T5Head::sequence;
  if (head == "ForTokenClassification") shape.head = T5Head::tokens;
  if (head == "ForQuestionAnswering") {
    shape.head = T5Head::span;
    config.require_span_labels();
  }
  if (shape.head == T5Head::sequence || shape.head == T5Head::tokens)
    shape.labels = config.labels();
  // The scores' bias has a gradient, which needs the scores, so no fused kernel is used.
  return described_as(shape, 512, kMostTokens, AttentionKernel::eager);
}

DescribedModel t5(Config& config) {
  return read_t5(config,
                 {.layers = 6,
                  .hidden = 512,
                  .heads = 8,
                  .head_features = 64,
                  .feed_forward = 2048,
                  .vocabulary = 32128},
                 "relu");
}

DescribedModel mt5(Config& config) {
  return read_t5(config,
                 {.layers = 8,
                  .hidden = 512,
                  .heads = 6,
                  .head_features = 64,
                  .feed_forward = 1024,
                  .vocabulary = 250112},
                 "gated-gelu");
}

BartStack read_stack(Config& config, const std::string& stack, const BartStack& usual,
                     std::int64_t hidden) {
  BartStack read;
  read.layers = config.number(stack + "_layers", usual.layers, kMostLayers);
  read.heads = config.number(stack + "_attention_heads", usual.heads, kMostHeads);
  config.require_multiple("d_model", hidden, stack + "_attention_heads", read.heads);
  read.feed_forward = config.number(stack + "_ffn_dim", usual.feed_forward, kMostFeedForward);
  return read;
}

/// Fields of BART-like models that their classes do not read, or use only in computations.
void skip_unread(Config& config) {
  for (const char* key :
       {"classif_dropout", "normalize_embedding", "normalize_before", "add_bias_logits",
        "add_final_layer_norm", "static_position_embeddings", "extra_pos_embeddings",
        "scale_embedding", "gradient_checkpointing", "max_num_embeddings"})
    config.optional(key);
}

constexpr BartStack kBartStack = {.layers = 12, .heads = 16, .feed_forward = 4096};

BartShape read_bart_shape(Config& config, std::int64_t vocabulary, std::int64_t offset) {
  BartShape shape;
  shape.hidden = config.number("d_model", 1024, kMostFeatures);
  shape.vocabulary = config.number("vocab_size", vocabulary, kMostEmbeddings);
  shape.encoder = read_stack(config, "encoder", kBartStack, shape.hidden);
  shape.decoder = read_stack(config, "decoder", kBartStack, shape.hidden);
  const std::int64_t positions =
      config.number("max_position_embeddings", 1024, kMostTokens) + offset;
  shape.encoder.positions = shape.decoder.positions = positions;
  shape.dropout = config.share("dropout", 0.1) > 0;
  skip_unread(config);
  return shape;
}

DescribedModel describe_bart(const BartShape& shape, std::int64_t offset) {
  const std::int64_t tokens = shape.decoder.positions - offset;
  return described_as(shape, std::min<std::int64_t>(tokens, 512), tokens);
}

constexpr std::int64_t kBartOffset = 2;  // rows before the first position's row

DescribedModel read_bart(Config& config, bool norm_first) {
  BartShape shape = read_bart_shape(config, 50265, kBartOffset);
  shape.embedding_norm = true;
  shape.norm_first = shape.last_norm = norm_first;
  const std::string head = config.architecture(
      "ForConditionalGeneration",
      {"ForConditionalGeneration", "Model", "ForSequenceClassification", "ForQuestionAnswering"});
  config.require_tied_words();
  if (head == "Model") shape.head = BartHead::none;
  if (head == "ForQuestionAnswering") shape.head = BartHead::span;
  if (head == "ForSequenceClassification") {
    shape.head = BartHead::sequence;
    shape.labels = config.labels(norm_first ? 2 : 3);
  }
  return describe_bart(shape, kBartOffset);
}

DescribedModel bart(Config& config) {
  return read_bart(config, false);
}

DescribedModel mbart(Config& config) {
  return read_bart(config, true);
}

DescribedModel pegasus(Config& config) {
  BartShape shape = read_bart_shape(config, 50265, 0);
  shape.norm_first = shape.last_norm = true;
  shape.fixed_positions = true;
  const std::string head =
      config.architecture("ForConditionalGeneration", {"ForConditionalGeneration", "Model"});
  config.require_tied_words();
  if (head == "Model") shape.head = BartHead::none;
  return describe_bart(shape, 0);
}

DescribedModel marian(Config& config) {
  BartShape shape = read_bart_shape(config, 58101, 0);
  shape.fixed_positions = true;
  const std::string head = config.architecture("MTModel", {"MTModel", "Model"});
  config.require_tied_words();
  config.require_flag("share_encoder_decoder_embeddings", true,
                      "a decoder with its own vocabulary is not supported for this type");
  if (const auto words = config.optional_number("decoder_vocab_size", kMostEmbeddings);
      words && *words != shape.vocabulary)
    config.refuse(
        "decoder_vocab_size",
        fmt::format("decoder_vocab_size {} differs from vocab_size {}", *words, shape.vocabulary),
        "Encoder and decoder share one embedding; keep one of the two");
  if (head == "Model") shape.head = BartHead::none;
  return describe_bart(shape, 0);
}

DescribedModel whisper(Config& config) {
  BartShape shape;
  const BartStack usual = {.layers = 4, .heads = 6, .feed_forward = 1536};
  shape.hidden = config.number("d_model", 384, kMostFeatures);
  shape.vocabulary = config.number("vocab_size", 51865, kMostEmbeddings);
  shape.encoder = read_stack(config, "encoder", usual, shape.hidden);
  shape.decoder = read_stack(config, "decoder", usual, shape.hidden);
  shape.encoder.positions = config.number("max_source_positions", 1500, kMostTokens);
  shape.decoder.positions = config.number("max_target_positions", 448, kMostTokens);
  shape.mel_bins = config.number("num_mel_bins", 80, kMostFeatures);
  shape.norm_first = shape.last_norm = true;
  shape.key_bias = false;
  shape.logits_bias = false;
  shape.dropout = config.share("dropout", 0) > 0;
  skip_unread(config);
  for (const char* key : {"use_weighted_layer_sum", "classifier_proj_size", "apply_spec_augment",
                          "median_filter_width", "mask_time_length", "mask_time_min_masks",
                          "mask_feature_length", "mask_feature_min_masks", "alignment_heads"})
    config.optional(key);
  const std::string head =
      config.architecture("ForConditionalGeneration", {"ForConditionalGeneration", "Model"});
  config.require_tied_words();
  if (head == "Model") shape.head = BartHead::none;
  config.note(fmt::format("the encoder reads {} frames of every sample; sSEQ is the decoder's",
                          2 * shape.encoder.positions));
  return describe_bart(shape, 0);
}

}  // namespace

std::vector<ConfigFamily> encoder_decoder_families() {
  const std::vector<FieldAlias> of_t5 = {{"hidden_size", "d_model"},
                                         {"num_attention_heads", "num_heads"},
                                         {"num_hidden_layers", "num_layers"},
                                         {"head_dim", "d_kv"}};
  const std::vector<FieldAlias> of_bart = {{"hidden_size", "d_model"},
                                           {"num_attention_heads", "encoder_attention_heads"},
                                           {"num_hidden_layers", "encoder_layers"}};
  std::vector<FieldAlias> of_whisper = of_bart;
  of_whisper.push_back({"num_key_value_heads", "encoder_attention_heads"});
  return {{"t5", "T5", t5, of_t5},
          {"mt5", "MT5", mt5, of_t5},
          {"bart", "Bart", bart, of_bart},
          {"mbart", "MBart", mbart, of_bart},
          {"pegasus", "Pegasus", pegasus, of_bart},
          {"marian", "Marian", marian, of_bart},
          {"whisper", "Whisper", whisper, of_whisper}};
}

}  // namespace ddpsim
