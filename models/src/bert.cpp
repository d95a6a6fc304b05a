#include "bert.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void encoder_layer(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden) {
  const Activation tokens = model.activation();
  for (const char* projection : {"query", "key", "value"})
    model.linear(prefix + "attention.self." + projection, hidden);
  model.attention(prefix + "attention.self", hidden / kHeadFeatures, tokens.positions());
  model.linear(prefix + "attention.output.dense", hidden);
  model.dropout(prefix + "attention.output.dropout");
  model.add(prefix + "attention.output.add");
  model.layer_norm(prefix + "attention.output.LayerNorm");
  model.linear(prefix + "intermediate.dense", 4 * hidden);
  model.gelu(prefix + "intermediate.gelu");
  model.linear(prefix + "output.dense", hidden);
  model.dropout(prefix + "output.dropout");
  model.add(prefix + "output.add");
  model.layer_norm(prefix + "output.LayerNorm");
}

}  // namespace

Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens) {
  constexpr std::int64_t kVocabulary = 30522;
  constexpr std::int64_t kSegments = 2;
  ModuleRecorder model(name, {.height = tokens});
  const std::size_t words =
      model.embedding("embeddings.word_embeddings", kVocabulary, shape.hidden);
  const std::size_t positions =
      model.embedding("embeddings.position_embeddings", kBertPositions, shape.hidden);
  const std::size_t segments =
      model.embedding("embeddings.token_type_embeddings", kSegments, shape.hidden);
  model.buffer(Dtype::int64, kBertPositions);  // position_ids
  model.buffer(Dtype::int64, kBertPositions);  // token_type_ids
  model.look_up(words);
  model.look_up(segments);
  model.add("embeddings.add_segments");
  model.look_up(positions);
  model.add("embeddings.add_positions");
  model.layer_norm("embeddings.LayerNorm");
  model.dropout("embeddings.dropout");
  for (int layer = 0; layer < shape.layers; ++layer)
    encoder_layer(model, "encoder.layer." + std::to_string(layer) + ".", shape.hidden);
  model.continue_from({.channels = shape.hidden});  // the first token
  model.linear("pooler.dense", shape.hidden);
  model.relu("pooler.tanh");
  return std::move(model).finish();
}

}  // namespace ddpsim
