#include "gpt2.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void block(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden) {
  model.layer_norm(prefix + "ln_1", hidden);
  model.conv1d_addmm(prefix + "attn.c_attn", hidden, 3 * hidden);
  model.conv1d_addmm(prefix + "attn.c_proj", hidden, hidden);
  model.layer_norm(prefix + "ln_2", hidden);
  model.conv1d_addmm(prefix + "mlp.c_fc", hidden, 4 * hidden);
  model.conv1d_addmm(prefix + "mlp.c_proj", 4 * hidden, hidden);
}

}  // namespace

Model build_model(const std::string& name, const Gpt2Shape& shape) {
  constexpr std::int64_t kVocabulary = 50257;
  constexpr std::int64_t kPositions = 1024;
  ModuleRecorder model(name);
  const std::size_t tokens = model.embedding("transformer.wte", kVocabulary, shape.hidden);
  const std::size_t positions = model.embedding("transformer.wpe", kPositions, shape.hidden);
  model.look_up(tokens);
  model.look_up(positions);
  for (int layer = 0; layer < shape.layers; ++layer)
    block(model, "transformer.h." + std::to_string(layer) + ".", shape.hidden);
  model.layer_norm("transformer.ln_f", shape.hidden);
  model.tied_linear(tokens);
  return std::move(model).finish();
}

}  // namespace ddpsim
