#include "t5.hpp"

#include <optional>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void branch_out(ModuleRecorder& model, const std::string& prefix, const T5Shape& shape,
                const Activation& given) {
  if (shape.dropout) model.dropout(prefix + "dropout");
  model.add(prefix + "add", given);
}

struct Attention {
  std::string module;  ///< "SelfAttention", "EncDecAttention"
  Activation memory;   ///< source of keys and values
  bool makes_bias = false;
  bool causal = false;
};

void attend(ModuleRecorder& model, const std::string& layer, const T5Shape& shape,
            const Attention& attention) {
  const std::string prefix = layer + attention.module + ".";
  const std::int64_t features = shape.heads * shape.head_features;
  for (const char* projection : {"q", "k", "v", "o"})
    model.define_module(prefix + projection, false);
  if (attention.makes_bias) model.define_module(prefix + "relative_attention_bias", false);
  model.define_module(layer + "layer_norm", false);
  const Activation given = model.activation();
  model.rms_norm(layer + "layer_norm");
  const bool own = attention.module == "SelfAttention";
  if (own) model.used_by(3);
  const Activation normed = model.activation();
  model.linear(prefix + "q", features, false);
  const Activation query = model.activation();
  for (const char* projection : {"k", "v"}) {
    model.continue_from(own ? normed : attention.memory);
    model.linear(prefix + projection, features, false);
  }
  if (attention.makes_bias) {
    // One bias for each head and pair of positions, the same for all samples.
    const std::size_t bias =
        model.embedding(prefix + "relative_attention_bias", shape.distances, shape.heads);
    model.look_up_for_scores(bias, query.positions() * attention.memory.positions());
  }
  model.continue_from(query);
  model.attention(prefix + "attention", {.heads = shape.heads,
                                         .keys = attention.memory.positions(),
                                         .causal = attention.causal,
                                         .dropout = shape.dropout});
  model.linear(prefix + "o", shape.hidden, false);
  branch_out(model, layer, shape, given);
}

void feed_forward(ModuleRecorder& model, const std::string& layer, const T5Shape& shape) {
  const std::string prefix = layer + "DenseReluDense.";
  const auto wide = [&](const char* linear) {
    model.linear(prefix + linear, shape.feed_forward, false);
  };
  for (const char* linear : {"wi_0", "wi_1"})
    if (shape.gated) model.define_module(prefix + linear, false);
  if (!shape.gated) model.define_module(prefix + "wi", false);
  model.define_module(prefix + "wo", false);
  model.define_module(layer + "layer_norm", false);
  const Activation given = model.activation();
  model.rms_norm(layer + "layer_norm");
  const Activation normed = model.activation();
  if (shape.gated) {
    model.used_by(2);
    wide("wi_0");
    model.gelu_written_out(prefix + "act");
    model.continue_from(normed);
    wide("wi_1");
    model.gate(prefix + "gate");
  } else {
    wide("wi");
    model.relu(prefix + "act");
  }
  if (shape.dropout) model.dropout(prefix + "dropout");
  model.linear(prefix + "wo", shape.hidden, false);
  branch_out(model, layer, shape, given);
}

/// `memory` is the encoder's output, for the decoder only.
void stack(ModuleRecorder& model, const std::string& name, const T5Shape& shape,
           const std::optional<Activation>& memory) {
  const std::int64_t layers = memory ? shape.decoder_layers : shape.layers;
  for (std::int64_t k = 0; k < layers; ++k) {
    const std::string block = name + ".block." + std::to_string(k) + ".layer.";
    model.begin_block();
    attend(model, block + "0.", shape,
           {.module = "SelfAttention",
            .memory = model.activation(),
            .makes_bias = k == 0,
            .causal = memory.has_value()});
    if (memory)
      attend(model, block + "1.", shape, {.module = "EncDecAttention", .memory = *memory});
    feed_forward(model, block + (memory ? "2." : "1."), shape);
    model.end_block();
  }
  model.rms_norm(name + ".final_layer_norm");
  if (shape.dropout) model.dropout(name + ".dropout");
}

void run_head(ModuleRecorder& model, const T5Shape& shape, std::size_t words) {
  switch (shape.head) {
    case T5Head::none:
    case T5Head::encoder:
      return;
    case T5Head::words:
      model.tied_linear(words);
      break;
    case T5Head::sequence:
      model.continue_from({.channels = shape.hidden});
      model.linear("classification_head.dense", shape.hidden);
      model.relu("classification_head.tanh");
      model.linear("classification_head.out_proj", shape.labels);
      break;
    case T5Head::tokens:
      model.linear("classifier", shape.labels);
      break;
    case T5Head::span:
      model.linear("qa_outputs", 2);
      break;
  }
  model.cross_entropy("loss");
}

}  // namespace

Model build_model(const std::string& name, const T5Shape& shape, std::int64_t tokens,
                  AttentionKernel attention) {
  const Activation sentence = {.height = tokens};
  ModuleRecorder model(name, sentence, attention);
  const bool headed = shape.head == T5Head::sequence || shape.head == T5Head::tokens;
  const std::string base = headed ? "transformer." : "";
  const std::size_t words = model.embedding(base + "shared", shape.vocabulary, shape.hidden);
  const auto embed = [&](const std::string& stack) {
    model.continue_from(sentence);
    model.look_up(words);
    if (shape.dropout) model.dropout(stack + ".embed_dropout");
  };
  embed(base + "encoder");
  stack(model, base + "encoder", shape, std::nullopt);
  if (shape.head != T5Head::encoder && shape.head != T5Head::tokens) {
    const Activation memory = model.activation();
    embed(base + "decoder");
    stack(model, base + "decoder", shape, memory);
  }
  run_head(model, shape, words);
  return std::move(model).finish();
}

}  // namespace ddpsim
