#include "bert.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void encoder_layer(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden) {
  for (const char* projection : {"query", "key", "value"})
    model.linear(prefix + "attention.self." + projection, hidden, hidden);
  model.linear(prefix + "attention.output.dense", hidden, hidden);
  model.layer_norm(prefix + "attention.output.LayerNorm", hidden);
  model.linear(prefix + "intermediate.dense", hidden, 4 * hidden);
  model.linear(prefix + "output.dense", 4 * hidden, hidden);
  model.layer_norm(prefix + "output.LayerNorm", hidden);
}

}  // namespace

Model build_model(const std::string& name, const BertShape& shape) {
  constexpr std::int64_t kVocabulary = 30522;
  constexpr std::int64_t kPositions = 512;
  constexpr std::int64_t kSegments = 2;
  ModuleRecorder model(name);
  const std::size_t words =
      model.embedding("embeddings.word_embeddings", kVocabulary, shape.hidden);
  const std::size_t positions =
      model.embedding("embeddings.position_embeddings", kPositions, shape.hidden);
  const std::size_t segments =
      model.embedding("embeddings.token_type_embeddings", kSegments, shape.hidden);
  model.look_up(words);
  model.look_up(segments);
  model.look_up(positions);
  model.layer_norm("embeddings.LayerNorm", shape.hidden);
  for (int layer = 0; layer < shape.layers; ++layer)
    encoder_layer(model, "encoder.layer." + std::to_string(layer) + ".", shape.hidden);
  model.linear("pooler.dense", shape.hidden, shape.hidden);
  return std::move(model).finish();
}

}  // namespace ddpsim
