#include "transformer.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

constexpr int kLayers = 6;  // of the encoder, and of the decoder

void attend(ModuleRecorder& model, const std::string& name, const TransformerShape& shape,
            const Activation& memory) {
  const Activation given = model.activation();
  model.fairseq_projections(name, memory);
  model.attention(name, shape.heads, memory.positions());
  model.linear(name + ".out_proj", shape.features);
  model.dropout(name + ".residual_dropout");
  model.add(name + ".add", given);
  model.layer_norm(name + "_layer_norm");
}

void feed_forward(ModuleRecorder& model, const std::string& prefix, const TransformerShape& shape) {
  const Activation given = model.activation();
  model.linear(prefix + "fc1", shape.feed_forward);
  model.relu(prefix + "relu");
  model.linear(prefix + "fc2", shape.features);
  model.dropout(prefix + "dropout");
  model.add(prefix + "add", given);
  model.layer_norm(prefix + "final_layer_norm");
}

}  // namespace

Model build_model(const std::string& name, const TransformerShape& shape, std::int64_t tokens) {
  constexpr std::int64_t kDictionary = 32768;
  const Activation sentence = {.channels = shape.features, .height = tokens};
  ModuleRecorder model(name, sentence);
  const std::size_t dictionary =
      model.embedding("encoder.embed_tokens", kDictionary, shape.features);
  const auto embed = [&] {
    model.buffer(Dtype::float32);  // version
    model.buffer(Dtype::float32);  // embed_positions._float_tensor
    model.continue_from(sentence);
    model.look_up(dictionary);
    // Scales the embedding, adds positions, applies dropout.
    model.elementwise("embed", {.forward = 7, .backward = 4, .kernels = 3});
  };
  embed();
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "encoder.layers." + std::to_string(layer) + ".";
    model.begin_block();
    attend(model, prefix + "self_attn", shape, model.activation());
    feed_forward(model, prefix, shape);
    model.end_block();
  }
  const Activation memory = model.activation();
  embed();
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "decoder.layers." + std::to_string(layer) + ".";
    model.begin_block();
    attend(model, prefix + "self_attn", shape, model.activation());
    attend(model, prefix + "encoder_attn", shape, memory);
    feed_forward(model, prefix, shape);
    model.end_block();
  }
  model.tied_linear(dictionary);
  model.cross_entropy("loss");
  return std::move(model).finish();
}

}  // namespace ddpsim
