#include "bert.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void drop(ModuleRecorder& model, const std::string& name, const BertShape& shape) {
  if (shape.dropout) model.dropout(name);
}

void encoder_layer(ModuleRecorder& model, const std::string& prefix, const BertShape& shape) {
  model.begin_block();
  for (const char* projection : {"query", "key", "value"})
    model.linear(prefix + "attention.self." + projection, shape.hidden);
  model.attention(
      prefix + "attention.self",
      {.heads = shape.heads, .keys = model.activation().positions(), .dropout = shape.dropout});
  model.linear(prefix + "attention.output.dense", shape.hidden);
  drop(model, prefix + "attention.output.dropout", shape);
  model.add(prefix + "attention.output.add");
  model.layer_norm(prefix + "attention.output.LayerNorm");
  model.linear(prefix + "intermediate.dense", shape.feed_forward);
  model.gelu(prefix + "intermediate.gelu");
  model.linear(prefix + "output.dense", shape.hidden);
  drop(model, prefix + "output.dropout", shape);
  model.add(prefix + "output.add");
  model.layer_norm(prefix + "output.LayerNorm");
  model.end_block();
}

void predict_words(ModuleRecorder& model, const std::string& prefix, std::size_t words,
                   const BertShape& shape) {
  model.define_parameter(prefix + "bias");
  model.linear(prefix + "transform.dense", shape.hidden);
  model.gelu(prefix + "transform.gelu");
  model.layer_norm(prefix + "transform.LayerNorm");
  model.tied_linear(words, prefix + "bias");
  model.cross_entropy("loss");
}

}  // namespace

Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = tokens}, attention);
  const std::string prefix = shape.head == BertHead::pooler ? "" : "bert.";
  const std::size_t words =
      model.embedding(prefix + "embeddings.word_embeddings", shape.vocabulary, shape.hidden);
  const std::size_t positions =
      model.embedding(prefix + "embeddings.position_embeddings", shape.positions, shape.hidden);
  const std::size_t segments =
      model.embedding(prefix + "embeddings.token_type_embeddings", shape.segments, shape.hidden);
  model.buffer(Dtype::int64, shape.positions);  // position_ids
  model.buffer(Dtype::int64, shape.positions);  // token_type_ids
  model.look_up(words);
  model.look_up(segments);
  model.add(prefix + "embeddings.add_segments");
  model.look_up(positions);
  model.add(prefix + "embeddings.add_positions");
  model.layer_norm(prefix + "embeddings.LayerNorm");
  drop(model, prefix + "embeddings.dropout", shape);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    encoder_layer(model, prefix + "encoder.layer." + std::to_string(layer) + ".", shape);
  const Activation encoded = model.activation();
  const Activation first_token = {.channels = shape.hidden};
  if (shape.head != BertHead::masked_words) {
    model.continue_from(first_token);
    model.linear(prefix + "pooler.dense", shape.hidden);
    model.relu(prefix + "pooler.tanh");
  }
  if (shape.head == BertHead::pooler) return std::move(model).finish();
  model.continue_from(encoded);
  predict_words(model, "cls.predictions.", words, shape);
  if (shape.head == BertHead::pretraining) {
    model.continue_from(first_token);
    model.linear("cls.seq_relationship", 2);
  }
  return std::move(model).finish();
}

}  // namespace ddpsim
