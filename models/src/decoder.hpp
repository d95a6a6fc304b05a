// A decoder as transformers builds it: words, perhaps positions, blocks, a last norm and a head. Each family describes its blocks
// (config_decoders.hpp); Llama, Mistral and Qwen2 of the catalogue are described here.
//
// Source of the structure: Touvron et al., "LLaMA" (2023): RMSNorm before each branch, rotary positions (no parameters), SwiGLU;
// "Llama 2" (2023): several query heads share a key head. Experts: Fedus et al., "Switch Transformers" (2021); Jiang et al.,
// "Mixtral of Experts" (2024). Norms and rotations are written out in small kernels, as modeling_llama.py of transformers 5
// does; nothing is compiled, and products of experts are grouped. Buffers: the rotation's frequencies, twice.
//
// Of experts every parameter is there, and DDP all-reduces them all; a token computes with the active ones alone, evenly spread.
// Expert parallelism and its all-to-all are not simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"
#include "transformer_block.hpp"

namespace ddpsim {

struct DecoderShape {
  std::string base = "model.";  ///< of all but the head
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::string words = "embed_tokens";
  std::string blocks_module = "layers";
  NormModule last_norm = {.name = "norm", .kind = NormKind::rms};
  std::vector<BlockModules> kinds;
  std::vector<std::size_t> layers;  ///< of each layer its kind
  bool tied = false;                ///< the output layer's weight is the embedding's
  bool head_bias = false;
  bool scaled_words = false;                 ///< by a factor, which is a buffer
  std::vector<std::int64_t> frequencies;     ///< of each rotation, features / 2
  std::vector<std::int64_t> single_buffers;  ///< elements of further fp32 buffers
  DecoderHead head;
  std::string span_base = "model.";  ///< of all modules, where answers are spans
};

struct LlamaShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_features = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  bool tied = false;  ///< the output layer's weight is the embedding's
  bool qkv_bias = false;
  bool output_bias = false;  ///< of the attention
  bool feed_forward_bias = false;
};

/// The blocks of Llama.
BlockModules llama_block(const LlamaShape& shape);
DecoderShape llama_decoder(const LlamaShape& shape);

/// Defines the words' embedding, which it gives, and looks them up.
std::size_t look_up_words(ModuleRecorder& model, const DecoderShape& shape);
/// Runs blocks and last norm.
void run_decoder(ModuleRecorder& model, const DecoderShape& shape);

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const DecoderShape& shape, std::int64_t tokens,
                  AttentionKernel attention);
Model build_model(const std::string& name, const LlamaShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
