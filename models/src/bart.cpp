#include "bart.hpp"

#include <utility>

#include "module_recorder.hpp"
#include "transformer_block.hpp"

namespace ddpsim {
namespace {

AttentionModules attention_of(const std::string& module, const BartShape& shape,
                              const BartStack& stack) {
  const std::string prefix = module + ".";
  return {.hidden = shape.hidden,
          .heads = stack.heads,
          .key_heads = stack.heads,
          .head_features = shape.hidden / stack.heads,
          .query = {prefix + "q_proj", true},
          .key = {prefix + "k_proj", shape.key_bias},
          .value = {prefix + "v_proj", true},
          .output = {prefix + "out_proj", true}};
}

BranchModules branch_of(const std::string& norm, const BartShape& shape) {
  const NormModule module = {.name = norm, .bias = true};
  if (shape.norm_first) return {.before = module};
  return {.behind = module};
}

BlockModules bart_block(const BartShape& shape, const BartStack& stack, bool decodes) {
  BlockModules block;
  block.hidden = shape.hidden;
  block.attention = attention_of("self_attn", shape, stack);
  block.attention.causal = decodes;
  block.around_attention = branch_of("self_attn_layer_norm", shape);
  if (decodes) {
    block.cross = attention_of("encoder_attn", shape, stack);
    block.around_cross = branch_of("encoder_attn_layer_norm", shape);
  }
  block.feed_forward = {
      .features = stack.feed_forward, .gate = {}, .up = {"fc1", true}, .down = {"fc2", true}};
  block.around_feed_forward = branch_of("final_layer_norm", shape);
  block.dropout = shape.dropout;
  block.defined =
      "self_attn.k_proj self_attn.v_proj self_attn.q_proj self_attn.out_proj self_attn_layer_norm "
      "encoder_attn.k_proj encoder_attn.v_proj encoder_attn.q_proj encoder_attn.out_proj "
      "encoder_attn_layer_norm fc1 fc2 final_layer_norm";
  return block;
}

void add_positions(ModuleRecorder& model, const std::string& prefix, const BartShape& shape,
                   std::int64_t rows, bool fixed) {
  const Activation embedded = model.activation();
  const std::size_t positions = model.embedding(prefix + "embed_positions", rows, shape.hidden);
  if (fixed) model.freeze_parameter(positions);
  model.look_up(positions);
  model.add(prefix + "embed_positions.add", embedded);
  if (shape.embedding_norm) model.layer_norm(prefix + "layernorm_embedding");
  if (shape.dropout) model.dropout(prefix + "dropout");
}

/// Two convolutions over the spectrogram. The second one halves the number of frames.
void hear(ModuleRecorder& model, const std::string& prefix, const BartShape& shape) {
  model.continue_from(
      {.channels = shape.mel_bins, .height = 2 * shape.encoder.positions, .single = true});
  for (const char* convolution : {"conv1", "conv2"}) {
    const std::int64_t stride = convolution[4] == '2' ? 2 : 1;
    model.conv2d(prefix + convolution, {.out = shape.hidden,
                                        .kernel = {.height = 3, .width = 1},
                                        .stride = stride,
                                        .padding = {.height = 1, .width = 0},
                                        .bias = true,
                                        .one_dimension = true});
    model.gelu(prefix + convolution + ".gelu");
  }
}

void run_stack(ModuleRecorder& model, const std::string& prefix, const BartShape& shape,
               const BartStack& stack, const Activation* memory) {
  const BlockModules block = bart_block(shape, stack, memory != nullptr);
  for (std::int64_t layer = 0; layer < stack.layers; ++layer)
    run_block(model, prefix + "layers." + std::to_string(layer) + ".", block,
              memory != nullptr ? *memory : Activation());
  if (shape.last_norm) model.layer_norm(prefix + "layer_norm");
}

void run_head(ModuleRecorder& model, const BartShape& shape, std::size_t words) {
  switch (shape.head) {
    case BartHead::words:
      model.tied_linear(words);
      break;
    case BartHead::sequence:
      model.continue_from({.channels = shape.hidden});
      model.linear("classification_head.dense", shape.hidden);
      model.relu("classification_head.tanh");
      model.linear("classification_head.out_proj", shape.labels);
      break;
    case BartHead::span:
      model.linear("qa_outputs", 2);
      break;
    case BartHead::none:
      return;
  }
  model.cross_entropy("loss");
}

}  // namespace

Model build_model(const std::string& name, const BartShape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  const Activation sentence = {.height = tokens};
  const bool hears = shape.mel_bins > 0;
  const std::string base = shape.head == BartHead::none ? "" : "model.";
  ModuleRecorder model(name, sentence, attention);
  std::size_t words = 0;
  if (hears) {
    hear(model, base + "encoder.", shape);
  } else {
    words = model.embedding(base + "shared", shape.vocabulary, shape.hidden);
    model.look_up(words);
  }
  add_positions(model, base + "encoder.", shape, shape.encoder.positions,
                shape.fixed_positions || hears);
  run_stack(model, base + "encoder.", shape, shape.encoder, nullptr);
  const Activation memory = model.activation();
  if (hears) words = model.embedding(base + "decoder.embed_tokens", shape.vocabulary, shape.hidden);
  model.continue_from(sentence);
  model.look_up(words);
  add_positions(model, base + "decoder.", shape, shape.decoder.positions, shape.fixed_positions);
  run_stack(model, base + "decoder.", shape, shape.decoder, &memory);
  run_head(model, shape, words);
  if (shape.logits_bias && shape.head == BartHead::words)
    model.buffer(Dtype::float32, shape.vocabulary);
  std::string order = base + "shared ";
  for (const std::string& part : {base + "encoder.", base + "decoder."})
    for (const char* module : {"conv1", "conv2", "embed_tokens", "embed_positions", "layers",
                               "layernorm_embedding", "layer_norm"})
      order += part + module + " ";
  model.define_in_order(0, "", order + "classification_head qa_outputs");
  return std::move(model).finish();
}

}  // namespace ddpsim
