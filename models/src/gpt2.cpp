#include "gpt2.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void branch_out(ModuleRecorder& model, const std::string& prefix, const Gpt2Shape& shape,
                const Activation& given) {
  if (shape.dropout) model.dropout(prefix + "dropout");
  model.add(prefix + "add", given);
}

void block(ModuleRecorder& model, const std::string& prefix, const Gpt2Shape& shape) {
  model.begin_block();
  const Activation given = model.activation();
  model.layer_norm(prefix + "ln_1");
  if (shape.mask_buffers) {
    model.buffer(Dtype::boolean, shape.positions * shape.positions);  // attn.bias, the causal mask
    model.buffer(Dtype::float32);                                     // attn.masked_bias
  }
  model.conv1d_addmm(prefix + "attn.c_attn", 3 * shape.hidden);
  model.continue_from({.channels = shape.hidden, .height = model.activation().height});
  model.attention(prefix + "attn", {.heads = shape.heads,
                                    .keys = model.activation().positions(),
                                    .causal = true,
                                    .dropout = shape.dropout});
  model.conv1d_addmm(prefix + "attn.c_proj", shape.hidden);
  branch_out(model, prefix + "attn.", shape, given);
  const Activation attended = model.activation();
  model.layer_norm(prefix + "ln_2");
  model.conv1d_addmm(prefix + "mlp.c_fc", shape.feed_forward);
  model.gelu_written_out(prefix + "mlp.act");
  model.conv1d_addmm(prefix + "mlp.c_proj", shape.hidden);
  branch_out(model, prefix + "mlp.", shape, attended);
  model.end_block();
}

}  // namespace

Model build_model(const std::string& name, const Gpt2Shape& shape, std::int64_t sequence,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.height = sequence}, attention);
  const std::size_t tokens = model.embedding("transformer.wte", shape.vocabulary, shape.hidden);
  const std::size_t positions = model.embedding("transformer.wpe", shape.positions, shape.hidden);
  model.look_up(tokens);
  model.look_up(positions);
  model.add("transformer.add", model.activation());
  if (shape.dropout) model.dropout("transformer.drop");
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    block(model, "transformer.h." + std::to_string(layer) + ".", shape);
  model.layer_norm("transformer.ln_f");
  if (shape.mask_buffers)
    model.buffers_as_in(
        "transformers 4.12 to 4.57, a causal mask of 1 MiB in each layer (2.1: 4 MiB; 5.23: none)");
  return finish_decoder(std::move(model), shape.head,
                        {.words = tokens, .vocabulary = shape.vocabulary, .tied = shape.tied},
                        "transformer.");
}

}  // namespace ddpsim
