#include "config_like_llama.hpp"

#include <fmt/format.h>

#include <utility>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

LlamaShape read_llama_shape(Config& config, const DecoderDefaults& usual) {
  LlamaShape shape;
  shape.hidden = config.number("hidden_size", usual.hidden, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", usual.layers, kMostLayers);
  shape.heads = config.number("num_attention_heads", usual.heads, kMostHeads);
  if ((usual.key_heads == 0 || usual.null_key_heads) && config.says_null("num_key_value_heads"))
    shape.key_heads = shape.heads;
  else
    shape.key_heads = config.number(
        "num_key_value_heads", usual.key_heads > 0 ? usual.key_heads : shape.heads, kMostHeads);
  const bool null_head = usual.null_head_features && config.says_null("head_dim");
  if (config.optional("head_dim") || (usual.head_features > 0 && !null_head)) {
    shape.head_features = config.number("head_dim", usual.head_features, kMostFeatures);
  } else {
    if (!null_head) config.refuse_null("head_dim", "hidden_size over num_attention_heads");
    config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
    shape.head_features = shape.hidden / shape.heads;
  }
  config.require_multiple("num_attention_heads", shape.heads, "num_key_value_heads",
                          shape.key_heads);
  if (shape.head_features * shape.heads > kMostFeatures)
    config.refuse("num_attention_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  shape.feed_forward = config.number("intermediate_size", usual.feed_forward, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", usual.vocabulary, kMostEmbeddings);
  shape.tied = config.flag("tie_word_embeddings", usual.tied);
  return shape;
}

/// Layers of another kind than attention have other parameters.
void require_attention(Config& config, std::int64_t layers) {
  const auto types = config.layer_types(layers);
  if (!types) return;
  for (const std::string& type : *types)
    if (type != "full_attention" && type != "sliding_attention" && type != "chunked_attention")
      config.refuse("layer_types",
                    fmt::format("a layer of type {} is not supported", in_quotes(type)),
                    "Record the job instead");
}

}  // namespace

ReadDecoder read_decoder(Config& config, const DecoderDefaults& usual) {
  ReadDecoder read;
  read.llama = read_llama_shape(config, usual);
  require_attention(config, read.llama.layers);
  read.shape = llama_decoder(read.llama);
  read.usual_tokens =
      at_most_usual(config.number("max_position_embeddings", usual.positions, kMostEmbeddings));
  read.shape.head = config.decoder_head();
  return read;
}

void give_biases(AttentionModules& attention, bool queries, bool output) {
  attention.query.bias = attention.key.bias = attention.value.bias = queries;
  attention.output.bias = output;
}

void give_biases(FeedForwardModules& feed_forward, bool bias) {
  feed_forward.gate.bias = feed_forward.up.bias = feed_forward.down.bias = bias;
}

void read_attention_bias(Config& config, AttentionModules& attention, bool usual) {
  const bool bias = config.flag("attention_bias", usual);
  give_biases(attention, bias, bias);
}

void take_layer_norms(DecoderShape& shape, bool bias) {
  const auto change = [&](NormModule& norm) {
    norm.kind = NormKind::layer;
    norm.bias = bias;
  };
  for (BlockModules& block : shape.kinds) {
    change(block.around_attention.before);
    change(block.around_feed_forward.before);
  }
  change(shape.last_norm);
}

void norm_heads(AttentionModules& attention, NormKind kind, HeadNorm span, bool bias,
                const char* query, const char* key) {
  attention.query_norm = {.name = std::string("self_attn.") + query, .kind = kind, .bias = bias};
  attention.key_norm = {.name = std::string("self_attn.") + key, .kind = kind, .bias = bias};
  attention.norms_span = span;
}

void norm_each_head(AttentionModules& attention) {
  norm_heads(attention, NormKind::rms, HeadNorm::head, false);
}

void rotate_part(ReadDecoder& read, std::int64_t features) {
  read.block().attention.rotated = features;
  read.shape.frequencies = {features / 2};
}

void join_gate(BlockModules& block) {
  block.feed_forward.gate = {};
  block.feed_forward.gate_in_up = true;
  block.feed_forward.up.name = "mlp.gate_up_proj";
}

std::string order_of(std::string_view feed_forward) {
  return fmt::format("{} {}{}", kAttentionOrder, feed_forward, kNormOrder);
}

std::string order_of_dense() {
  return order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
}

DescribedModel spans_as_transformer(ReadDecoder read) {
  read.shape.span_base = "transformer.";
  return read.described();
}

}  // namespace ddpsim
