// Encoders by their config.json: BERT and its relatives.
#include <algorithm>

#include "config_fields.hpp"
#include "encoder.hpp"

namespace ddpsim {
namespace {

using Step = HeadStep::Kind;

void add_steps(EncoderShape& shape, const std::vector<HeadStep>& steps) {
  shape.head.insert(shape.head.end(), steps.begin(), steps.end());
}

HeadStep linear_step(const std::string& name, std::int64_t out, bool bias = true) {
  return {.kind = Step::linear, .name = name, .out = out, .bias = bias};
}

HeadStep activation_step(const std::string& name,
                         ActivationFunction function = ActivationFunction::gelu) {
  return {.kind = Step::activation, .name = name, .activation = function};
}

HeadStep dropout_step() {
  return {.kind = Step::dropout, .name = "dropout"};
}

/// One answer for each token, or where the answer begins and ends. False where the class is another.
bool token_head(Config& config, EncoderShape& shape, const std::string& head) {
  if (head == "ForTokenClassification")
    add_steps(shape,
              {dropout_step(), linear_step("classifier", config.labels()), {.kind = Step::loss}});
  else if (head == "ForQuestionAnswering") {
    config.require_span_labels();
    add_steps(shape, {linear_step("qa_outputs", 2), {.kind = Step::loss}});
  } else
    return false;
  return true;
}

/// A dense layer over the first token, then the classes: RoBERTa's and ELECTRA's.
void dense_classes(Config& config, EncoderShape& shape, ActivationFunction function) {
  add_steps(shape, {{.kind = Step::first_token},
                    dropout_step(),
                    linear_step("classifier.dense", shape.hidden),
                    activation_step("classifier.activation", function),
                    dropout_step(),
                    linear_step("classifier.out_proj", config.labels()),
                    {.kind = Step::loss}});
}

BertShape read_bert_shape(Config& config, std::int64_t hidden, std::int64_t layers,
                          std::int64_t heads, std::int64_t feed_forward, std::int64_t vocabulary) {
  BertShape shape;
  shape.hidden = config.number("hidden_size", hidden, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", layers, kMostLayers);
  shape.heads = config.number("num_attention_heads", heads, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("intermediate_size", feed_forward, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", vocabulary, kMostEmbeddings);
  shape.positions = config.number("max_position_embeddings", kBertPositions, kMostTokens);
  shape.dropout = config.share("hidden_dropout_prob", 0.1) > 0;
  if (const auto kind = config.word("position_embedding_type"); kind && *kind != "absolute")
    config.refuse("position_embedding_type", "positions other than absolute ones are not built",
                  "Record the job instead");
  if (const auto pruned = config.optional("pruned_heads");
      pruned && pruned->is_object() && !pruned->free_object().items().empty())
    pruned->fail("heads that were pruned are not left out here", "Record the job instead");
  // Fields of multilingual BERT that its class does not read.
  for (const char* key : {"pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                          "pooler_size_per_head", "pooler_type"})
    if (config.optional(key)) config.note(fmt::format("{} is not read by its class", key));
  return shape;
}

Described as_described(const EncoderShape& shape, std::int64_t positions) {
  return described_as(shape, std::min<std::int64_t>(positions, kBertPositions), positions);
}

Described bert(Config& config) {
  BertShape bert = read_bert_shape(config, 768, 12, 12, 3072, 30522);
  bert.segments = config.number("type_vocab_size", 2, kMostEmbeddings);
  const std::string head = config.architecture(
      "ForPreTraining", {"ForPreTraining", "ForMaskedLM", "LMHeadModel", "Model",
                         "ForSequenceClassification", "ForTokenClassification",
                         "ForQuestionAnswering", "ForMultipleChoice", "ForNextSentencePrediction"});
  if (head == "ForPreTraining" || head == "ForMaskedLM" || head == "LMHeadModel")
    config.require_tied_words();
  if (head == "ForPreTraining") bert.head = BertHead::pretraining;
  if (head == "ForMaskedLM" || head == "LMHeadModel") bert.head = BertHead::masked_words;
  if (head == "ForPreTraining" || head == "ForMaskedLM" || head == "LMHeadModel" || head == "Model")
    return described_as(bert, std::min<std::int64_t>(bert.positions, kBertPositions),
                        bert.positions);
  EncoderShape shape = bert_encoder(bert, "bert.");
  if (token_head(config, shape, head)) return as_described(shape, bert.positions);
  add_steps(shape, pooled("bert.pooler.dense", bert.hidden));
  if (head == "ForNextSentencePrediction") {
    add_steps(shape, {linear_step("cls.seq_relationship", 2), {.kind = Step::loss}});
  } else {
    const std::int64_t classes = head == "ForMultipleChoice" ? 1 : config.labels();
    add_steps(shape, {dropout_step(), linear_step("classifier", classes), {.kind = Step::loss}});
  }
  return as_described(shape, bert.positions);
}

EncoderShape roberta_encoder(const BertShape& bert, const std::string& base) {
  EncoderShape shape = bert_encoder(bert, base);
  shape.embeddings_defined = "word_embeddings token_type_embeddings LayerNorm position_embeddings";
  return shape;
}

Described read_roberta(Config& config, std::int64_t vocabulary, bool head_first) {
  BertShape bert = read_bert_shape(config, 768, 12, 12, 3072, vocabulary);
  bert.segments = config.number("type_vocab_size", 2, kMostEmbeddings);
  const std::string head = config.architecture(
      "ForMaskedLM", {"ForMaskedLM", "ForCausalLM", "Model", "ForSequenceClassification",
                      "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice"});
  const std::int64_t usable = bert.positions > 2 ? bert.positions - 2 : 1;  // behind the padding's
  EncoderShape shape = roberta_encoder(bert, head == "Model" ? "" : "roberta.");
  // The head is defined first in one of them.
  if (head_first && head != "Model") shape.defined = "classifier qa_outputs roberta";
  if (token_head(config, shape, head)) return as_described(shape, usable);
  if (head == "Model") {
    add_steps(shape, pooled("pooler.dense", bert.hidden));
  } else if (head == "ForSequenceClassification") {
    dense_classes(config, shape, ActivationFunction::relu);
  } else if (head == "ForMultipleChoice") {
    add_steps(shape, pooled("roberta.pooler.dense", bert.hidden));
    add_steps(shape, {dropout_step(), linear_step("classifier", 1), {.kind = Step::loss}});
  } else {
    config.require_tied_words();
    add_steps(shape, {linear_step("lm_head.dense", bert.hidden),
                      activation_step("lm_head.gelu"),
                      {.kind = Step::norm, .name = "lm_head.layer_norm"},
                      {.kind = Step::words, .name = "lm_head.bias"},
                      {.kind = Step::loss}});
    shape.defined = "roberta lm_head.bias lm_head";
    if (head_first) {  // the embedding goes by the name of the output layer, which is defined first
      shape.words_name = "lm_head.decoder.weight";
      shape.defined = "lm_head.bias lm_head.dense lm_head.layer_norm lm_head.decoder roberta";
    }
  }
  return as_described(shape, usable);
}

Described roberta(Config& config) {
  return read_roberta(config, 50265, false);
}

Described xlm_roberta(Config& config) {
  return read_roberta(config, 30522, true);
}

Described distilbert(Config& config) {
  BertShape bert;
  bert.hidden = config.number("dim", 768, kMostFeatures);
  bert.layers = config.number("n_layers", 6, kMostLayers);
  bert.heads = config.number("n_heads", 12, kMostHeads);
  config.require_multiple("dim", bert.hidden, "n_heads", bert.heads);
  bert.feed_forward = config.number("hidden_dim", 3072, kMostFeedForward);
  bert.vocabulary = config.number("vocab_size", 30522, kMostEmbeddings);
  bert.positions = config.number("max_position_embeddings", kBertPositions, kMostTokens);
  bert.dropout = config.share("dropout", 0.1) > 0;
  if (config.flag("sinusoidal_pos_embds", false))
    config.note(
        "sinusoidal_pos_embds: positions are a parameter that does not train in one release "
        "and does in another; they are counted, and train");
  config.optional("tie_weights_");
  const std::string head = config.architecture(
      "ForMaskedLM", {"ForMaskedLM", "Model", "ForSequenceClassification", "ForTokenClassification",
                      "ForQuestionAnswering", "ForMultipleChoice"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "distilbert.");
  shape.tables = {{"word_embeddings", bert.vocabulary}, {"position_embeddings", bert.positions}};
  shape.embeddings_defined.clear();
  shape.positions = {bert.positions};
  shape.blocks_module = "transformer.layer";
  BlockModules& block = shape.kinds.front();
  block.attention.query.name = "attention.q_lin";
  block.attention.key.name = "attention.k_lin";
  block.attention.value.name = "attention.v_lin";
  block.attention.output.name = "attention.out_lin";
  block.around_attention.behind.name = "sa_layer_norm";
  block.feed_forward.up.name = "ffn.lin1";
  block.feed_forward.down.name = "ffn.lin2";
  block.around_feed_forward.behind.name = "output_layer_norm";
  if (head == "Model" || token_head(config, shape, head))
    return as_described(shape, bert.positions);
  if (head == "ForMaskedLM") {
    config.require_tied_words();
    add_steps(shape, {linear_step("vocab_transform", bert.hidden),
                      activation_step("vocab_gelu"),
                      {.kind = Step::norm, .name = "vocab_layer_norm"},
                      {.kind = Step::words, .name = "vocab_projector.bias"},
                      {.kind = Step::loss}});
  } else {
    const std::int64_t classes = head == "ForMultipleChoice" ? 1 : config.labels();
    add_steps(shape, {{.kind = Step::first_token},
                      linear_step("pre_classifier", bert.hidden),
                      activation_step("relu", ActivationFunction::relu),
                      dropout_step(),
                      linear_step("classifier", classes),
                      {.kind = Step::loss}});
  }
  return as_described(shape, bert.positions);
}

Described albert(Config& config) {
  BertShape bert = read_bert_shape(config, 4096, 12, 64, 16384, 30000);
  bert.segments = config.number("type_vocab_size", 2, kMostEmbeddings);
  const std::string head = config.architecture(
      "ForPreTraining", {"ForPreTraining", "ForMaskedLM", "Model", "ForSequenceClassification",
                         "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "albert.");
  shape.embedded = config.number("embedding_size", 128, kMostFeatures);
  shape.projection = {"encoder.embedding_hidden_mapping_in", true};
  shape.blocks_module = "encoder.albert_layer_groups";
  shape.groups = config.number("num_hidden_groups", 1, kMostLayers);
  if (shape.groups > bert.layers)
    config.refuse("num_hidden_groups",
                  fmt::format("{} groups are more than {} layers", shape.groups, bert.layers));
  const std::int64_t inner = config.number("inner_group_num", 1, kMostLayers);
  if (inner * bert.layers > kMostLayers)
    config.refuse("inner_group_num", fmt::format("more than {} layers would run", kMostLayers));
  for (const char* key :
       {"net_structure_type", "num_memory_blocks", "gap_size", "down_scale_factor"})
    config.optional(key);
  BlockModules& block = shape.kinds.front();
  block.attention.query.name = "attention.query";
  block.attention.key.name = "attention.key";
  block.attention.value.name = "attention.value";
  block.attention.output.name = "attention.dense";
  block.around_attention.behind.name = "attention.LayerNorm";
  block.feed_forward.up.name = "ffn";
  block.feed_forward.down.name = "ffn_output";
  block.feed_forward.activation = ActivationFunction::gelu_written_out;
  block.around_feed_forward.behind.name = "full_layer_layer_norm";
  block.defined = "full_layer_layer_norm attention ffn ffn_output";
  shape.kinds.assign(static_cast<std::size_t>(inner), BlockModules(block));
  const auto predict_words = [&] {
    config.require_tied_words();
    add_steps(shape,
              {{.kind = Step::all_tokens},
               linear_step("predictions.dense", shape.embedded),
               activation_step("predictions.activation", ActivationFunction::gelu_written_out),
               {.kind = Step::norm, .name = "predictions.LayerNorm"},
               {.kind = Step::words, .name = "predictions.bias"},
               {.kind = Step::loss}});
    shape.defined =
        "albert predictions.bias predictions.LayerNorm predictions.dense sop_classifier";
  };
  if (token_head(config, shape, head)) return as_described(shape, bert.positions);
  if (head == "ForMaskedLM") {
    predict_words();
    return as_described(shape, bert.positions);
  }
  add_steps(shape, pooled(shape.base + "pooler", bert.hidden));
  if (head == "ForPreTraining") {
    predict_words();
    add_steps(shape, {{.kind = Step::first_token},
                      linear_step("sop_classifier.classifier", config.labels())});
  } else if (head != "Model") {
    const std::int64_t classes = head == "ForMultipleChoice" ? 1 : config.labels();
    add_steps(shape, {dropout_step(), linear_step("classifier", classes), {.kind = Step::loss}});
  }
  return as_described(shape, bert.positions);
}

Described electra(Config& config) {
  BertShape bert = read_bert_shape(config, 256, 12, 4, 1024, 30522);
  bert.segments = config.number("type_vocab_size", 2, kMostEmbeddings);
  const std::string head =
      config.architecture("ForPreTraining", {"ForPreTraining", "ForMaskedLM", "ForCausalLM",
                                             "Model", "ForSequenceClassification",
                                             "ForTokenClassification", "ForQuestionAnswering"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "electra.");
  shape.embedded = config.number("embedding_size", 128, kMostFeatures);
  if (shape.embedded != shape.hidden) shape.projection = {"embeddings_project", true};
  if (head == "Model" || token_head(config, shape, head))
    return as_described(shape, bert.positions);
  if (head == "ForSequenceClassification") {
    dense_classes(config, shape, ActivationFunction::gelu);
  } else if (head == "ForPreTraining") {
    add_steps(shape, {linear_step("discriminator_predictions.dense", bert.hidden),
                      activation_step("discriminator_predictions.activation"),
                      linear_step("discriminator_predictions.dense_prediction", 1),
                      {.kind = Step::loss}});
  } else {
    config.require_tied_words();
    add_steps(shape, {linear_step("generator_predictions.dense", shape.embedded),
                      activation_step("generator_predictions.activation"),
                      {.kind = Step::norm, .name = "generator_predictions.LayerNorm"},
                      {.kind = Step::words, .name = "generator_lm_head.bias"},
                      {.kind = Step::loss}});
    shape.defined =
        "electra generator_predictions.LayerNorm generator_predictions.dense generator_lm_head";
  }
  return as_described(shape, bert.positions);
}

/// Attention also by distance: the embedding of each is projected by the block, by the queries' and keys' weights where those
/// are shared.
Described deberta_v2(Config& config) {
  BertShape bert = read_bert_shape(config, 1536, 24, 24, 6144, 128100);
  const std::int64_t segments = config.count("type_vocab_size", 0, kMostEmbeddings);
  const std::string head =
      config.architecture("ForMaskedLM", {"ForMaskedLM", "Model", "ForSequenceClassification",
                                          "ForTokenClassification", "ForQuestionAnswering"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "deberta.");
  if (const auto embedded = config.optional_number("embedding_size", kMostFeatures))
    shape.embedded = *embedded == shape.hidden ? 0 : *embedded;
  if (shape.embedded > 0)
    config.refuse("embedding_size",
                  "an embedding narrower than the layers is not built for this type",
                  "Record the job instead");
  const bool places = config.flag("position_biased_input", true);
  shape.tables = {{"word_embeddings", bert.vocabulary}};
  if (places) shape.tables.push_back({"position_embeddings", bert.positions});
  if (segments > 0) shape.tables.push_back({"token_type_embeddings", segments});
  shape.embeddings_defined.clear();
  shape.positions = {bert.positions};
  BlockModules& block = shape.kinds.front();
  block.attention.query.name = "attention.self.query_proj";
  block.attention.key.name = "attention.self.key_proj";
  block.attention.value.name = "attention.self.value_proj";
  config.refuse_null("position_buckets", "-1");
  config.refuse_null("max_relative_positions", "-1");
  config.refuse_null("norm_rel_ebd", "none");
  const std::int64_t buckets = config.root().has("position_buckets")
                                   ? config.optional("position_buckets")->integer(-1, kMostTokens)
                                   : -1;
  std::int64_t most = bert.positions;
  if (const auto relative = config.optional("max_relative_positions"))
    if (const std::int64_t value = relative->integer(-1, kMostTokens); value > 0) most = value;
  const bool shared = config.flag_or_null("share_att_key", false);
  std::vector<std::string> kinds;
  if (const auto given = config.optional("pos_att_type")) {
    if (given->is_string()) {
      const std::string text = given->string();
      for (const char* kind : {"c2p", "p2c"})
        if (text.find(kind) != std::string::npos) kinds.emplace_back(kind);
    } else {
      kinds = *config.words("pos_att_type");
    }
  }
  if (config.flag("relative_attention", false)) {
    shape.distances = 2 * (buckets > 0 ? buckets : most);
    const std::string norm = config.word("norm_rel_ebd").value_or("none");
    shape.distance_norm = norm.find("layer_norm") != std::string::npos;
    const auto has = [&](const char* kind) {
      return std::ranges::find(kinds, kind) != kinds.end();
    };
    if (!has("c2p") && !has("p2c"))
      config.refuse("pos_att_type",
                    "relative_attention is true and pos_att_type names neither c2p nor p2c: no "
                    "layer reads the distances, and rel_embeddings gets no gradient",
                    "Name c2p, p2c or both, or set relative_attention to false");
    DistanceModules distance{.rows = shape.distances, .key = {}, .query = {}, .shared = shared};
    if (has("c2p")) distance.key = {"attention.self.pos_key_proj", true};
    if (has("p2c")) distance.query = {"attention.self.pos_query_proj", true};
    if (!shape.distance_norm) distance.table = shape.base + "encoder.rel_embeddings.weight";
    block.attention.distance = distance;
  } else {
    if (const auto norm = config.word("norm_rel_ebd"); norm && *norm != "none")
      config.refuse("norm_rel_ebd", "a norm of distances without relative_attention is never run",
                    "Set it to none, or relative_attention to true");
  }
  block.defined =
      "attention.self.query_proj attention.self.key_proj attention.self.value_proj "
      "attention.self.pos_key_proj attention.self.pos_query_proj attention.output.dense "
      "attention.output.LayerNorm intermediate output.dense output.LayerNorm";
  if (const auto width = config.optional("conv_kernel_size"))
    shape.convolution = width->integer(0, kMostFeatures);
  if (const auto pooled = config.optional_number("pooler_hidden_size", kMostFeatures);
      pooled && *pooled != bert.hidden)
    config.refuse(
        "pooler_hidden_size",
        fmt::format("pooler_hidden_size {} is not hidden_size {}: such a model does not run",
                    *pooled, bert.hidden),
        "Make them equal");
  config.optional_number("conv_groups", 1);
  config.word("conv_act");
  shape.defined = fmt::format(
      "{0}embeddings {0}encoder.layer {0}encoder.rel_embeddings {0}encoder.LayerNorm "
      "{0}encoder.conv "
      "cls.predictions.bias cls pooler classifier qa_outputs",
      shape.base);
  if (head == "Model" || token_head(config, shape, head))
    return as_described(shape, bert.positions);
  if (head == "ForMaskedLM") {
    config.require_tied_words();
    config.require_flag("legacy", true, "the newer head of masked words is not built");
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
  return as_described(shape, bert.positions);
}

/// Rotary positions, a gated feed-forward, norms before each branch; the first block has none before its attention.
Described modernbert(Config& config) {
  BertShape bert;
  bert.hidden = config.number("hidden_size", 768, kMostFeatures);
  bert.layers = config.number("num_hidden_layers", 22, kMostLayers);
  bert.heads = config.number("num_attention_heads", 12, kMostHeads);
  config.require_multiple("hidden_size", bert.hidden, "num_attention_heads", bert.heads);
  bert.feed_forward = config.number("intermediate_size", 1152, kMostFeedForward);
  bert.vocabulary = config.number("vocab_size", 50368, kMostEmbeddings);
  const std::int64_t tokens = config.number("max_position_embeddings", 8192, kMostTokens);
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  const bool norm_bias = config.flag("norm_bias", false);
  bert.dropout = false;
  const std::string head =
      config.architecture("ForMaskedLM", {"ForMaskedLM", "Model", "ForSequenceClassification",
                                          "ForTokenClassification", "ForQuestionAnswering"});
  EncoderShape shape = bert_encoder(bert, head == "Model" ? "" : "model.");
  shape.tables = {{"tok_embeddings", bert.vocabulary}};
  shape.embeddings_norm = {.name = "norm", .bias = norm_bias};
  shape.embeddings_defined.clear();
  shape.positions.clear();
  shape.blocks_module = "layers";
  BlockModules block = shape.kinds.front();
  block.attention.rotated = block.attention.head_features;
  block.attention.query = {"attn.Wqkv", attention_bias};
  block.attention.key = block.attention.value = {};
  block.attention.output = {"attn.Wo", attention_bias};
  block.around_attention = {.before = {.name = "attn_norm", .bias = norm_bias}};
  block.feed_forward.gate_in_up = true;
  block.feed_forward.up = {"mlp.Wi", mlp_bias};
  block.feed_forward.down = {"mlp.Wo", mlp_bias};
  block.around_feed_forward = {.before = {.name = "mlp_norm", .bias = norm_bias}};
  block.defined = "attn_norm attn mlp_norm mlp";
  BlockModules first = block;
  first.around_attention.before = {};
  shape.kinds = {first, block};
  for (std::size_t layer = 1; layer < shape.layers.size(); ++layer) shape.layers[layer] = 1;
  shape.last_norm = {.name = "final_norm", .bias = norm_bias};
  const std::int64_t rotated = block.attention.head_features / 2;
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
  const bool dense_bias = config.flag("classifier_bias", false);
  const bool bias = config.flag("decoder_bias", true);
  if (head != "Model") {
    if (head == "ForSequenceClassification") add_steps(shape, {{.kind = Step::first_token}});
    add_steps(shape, {linear_step("head.dense", bert.hidden, dense_bias),
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
  return described_as(shape, at_most_usual(tokens));
}

}  // namespace

std::vector<ConfigFamily> encoder_families() {
  return {{"bert", "Bert", bert},
          {"roberta", "Roberta", roberta},
          {"xlm-roberta", "XLMRoberta", xlm_roberta},
          {"distilbert",
           "DistilBert",
           distilbert,
           {{"hidden_size", "dim"},
            {"num_attention_heads", "n_heads"},
            {"num_hidden_layers", "n_layers"}}},
          {"albert", "Albert", albert},
          {"electra", "Electra", electra},
          {"deberta-v2", "DebertaV2", deberta_v2},
          {"modernbert", "ModernBert", modernbert}};
}

}  // namespace ddpsim
