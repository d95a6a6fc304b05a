#include "config_like_bert.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddpsim {

void add_steps(EncoderShape& shape, const std::vector<HeadStep>& steps) {
  shape.head.insert(shape.head.end(), steps.begin(), steps.end());
}

HeadStep linear_step(const std::string& name, std::int64_t out, bool bias) {
  return {.kind = Step::linear, .name = name, .out = out, .bias = bias};
}

HeadStep activation_step(const std::string& name, ActivationFunction function) {
  return {.kind = Step::activation, .name = name, .activation = function};
}

HeadStep dropout_step() {
  return {.kind = Step::dropout, .name = "dropout"};
}

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
    config.refuse("position_embedding_type", "positions other than absolute ones are not supported",
                  "Record the job instead");
  if (const auto pruned = config.optional("pruned_heads");
      pruned && pruned->is_object() && !pruned->free_object().items().empty())
    pruned->fail("pruned heads are not supported", "Record the job instead");
  // Fields of multilingual BERT that its class does not read.
  for (const char* key : {"pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                          "pooler_size_per_head", "pooler_type"})
    if (config.optional(key)) config.note(fmt::format("{} is not read by its class", key));
  return shape;
}

DescribedModel as_described(const EncoderShape& shape, std::int64_t positions) {
  return described_as(shape, std::min<std::int64_t>(positions, kBertPositions), positions);
}

}  // namespace ddpsim
