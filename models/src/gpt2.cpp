#include "gpt2.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void block(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden) {
  model.layer_norm(prefix + "ln_1");
  model.buffer(Dtype::boolean, kGpt2Positions * kGpt2Positions);  // attn.bias, the causal mask
  model.buffer(Dtype::float32);                                   // attn.masked_bias
  model.conv1d_addmm(prefix + "attn.c_attn", 3 * hidden);
  model.continue_from({.channels = hidden, .height = model.activation().height});
  model.attention(prefix + "attn", hidden / kHeadFeatures, model.activation().positions());
  model.conv1d_addmm(prefix + "attn.c_proj", hidden);
  model.dropout(prefix + "attn.dropout");
  model.add(prefix + "attn.add");
  model.layer_norm(prefix + "ln_2");
  model.conv1d_addmm(prefix + "mlp.c_fc", 4 * hidden);
  // The tanh approximation written out: cube, two sums, three products, tanh, one more product.
  model.elementwise(prefix + "mlp.act", {.forward = 18, .backward = 24, .kernels = 8, .kept = 4});
  model.conv1d_addmm(prefix + "mlp.c_proj", hidden);
  model.dropout(prefix + "mlp.dropout");
  model.add(prefix + "mlp.add");
}

}  // namespace

Model build_model(const std::string& name, const Gpt2Shape& shape, std::int64_t sequence) {
  constexpr std::int64_t kVocabulary = 50257;
  ModuleRecorder model(name, {.height = sequence});
  const std::size_t tokens = model.embedding("transformer.wte", kVocabulary, shape.hidden);
  const std::size_t positions = model.embedding("transformer.wpe", kGpt2Positions, shape.hidden);
  model.look_up(tokens);
  model.look_up(positions);
  model.add("transformer.add");
  model.dropout("transformer.drop");
  for (int layer = 0; layer < shape.layers; ++layer)
    block(model, "transformer.h." + std::to_string(layer) + ".", shape.hidden);
  model.layer_norm("transformer.ln_f");
  model.tied_linear(tokens);
  model.cross_entropy("loss");
  model.buffers_as_in(
      "transformers 4.12 to 4.57, a causal mask of 1 MiB in each layer (2.1: 4 MiB; 5.23: none)");
  return std::move(model).finish();
}

}  // namespace ddpsim
