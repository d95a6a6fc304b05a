// Reads the config.json of encoders: BERT and its relatives.
#include <fmt/format.h>

#include <algorithm>

#include "config_like_bert.hpp"

namespace ddpsim {
namespace {

/// A dense layer over the first token, then the classifier, as in RoBERTa and ELECTRA.
void dense_classes(Config& config, EncoderShape& shape, ActivationFunction function) {
  add_steps(shape, {{.kind = Step::first_token},
                    dropout_step(),
                    linear_step("classifier.dense", shape.hidden),
                    activation_step("classifier.activation", function),
                    dropout_step(),
                    linear_step("classifier.out_proj", config.labels()),
                    {.kind = Step::loss}});
}

DescribedModel bert(Config& config) {
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

DescribedModel read_roberta(Config& config, std::int64_t vocabulary, bool head_first) {
  BertShape bert = read_bert_shape(config, 768, 12, 12, 3072, vocabulary);
  bert.segments = config.number("type_vocab_size", 2, kMostEmbeddings);
  const std::string head = config.architecture(
      "ForMaskedLM", {"ForMaskedLM", "ForCausalLM", "Model", "ForSequenceClassification",
                      "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice"});
  const std::int64_t usable =
      bert.positions > 2 ? bert.positions - 2 : 1;  // without the padding rows
  EncoderShape shape = roberta_encoder(bert, head == "Model" ? "" : "roberta.");
  // One of the two families defines its head first.
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
    // The embedding has the name of the output layer, which is defined first.
    if (head_first) {
      shape.words_name = "lm_head.decoder.weight";
      shape.defined = "lm_head.bias lm_head.dense lm_head.layer_norm lm_head.decoder roberta";
    }
  }
  return as_described(shape, usable);
}

DescribedModel roberta(Config& config) {
  return read_roberta(config, 50265, false);
}

DescribedModel xlm_roberta(Config& config) {
  return read_roberta(config, 30522, true);
}

DescribedModel distilbert(Config& config) {
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

DescribedModel albert(Config& config) {
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

DescribedModel electra(Config& config) {
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
          {"electra", "Electra", electra}};
}

}  // namespace ddpsim
