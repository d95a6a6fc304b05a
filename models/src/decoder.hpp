// A decoder as transformers builds it: word embedding, perhaps positions, blocks, a last norm and a
// head. Each family describes its blocks (config_decoders.hpp). The catalogue's Llama, Mistral and
// Qwen2 are described here.
//
// Source of the structure: Touvron et al., "LLaMA" (2023): RMSNorm before each branch, rotary
// positions (no parameters), SwiGLU. "Llama 2" (2023): several query heads share a key head.
// Experts: Fedus et al., "Switch Transformers" (2021); Jiang et al., "Mixtral of Experts" (2024).
//
// Norms and rotations run in small kernels, as modeling_llama.py of transformers 5 does. Nothing is
// compiled, and the products of experts are grouped. Buffers: the rotation's frequencies, twice.
//
// All parameters of all experts exist, and DDP all-reduces them. Each token uses only the active
// experts, and tokens are spread evenly. Expert parallelism and its all-to-all are not simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"
#include "transformer_block.hpp"

namespace ddpsim {

struct DecoderShape {
  std::string base = "model.";  ///< prefix of all modules except the head
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::string words = "embed_tokens";
  std::string blocks_module = "layers";
  NormModule last_norm = {.name = "norm", .kind = NormKind::rms};
  std::vector<BlockModules> kinds;
  std::vector<std::size_t> layers;  ///< kind of each layer
  bool tied = false;                ///< the output layer uses the embedding's weight
  bool head_bias = false;
  bool scaled_words = false;                 ///< scaled by a factor, which is a buffer
  std::vector<std::int64_t> frequencies;     ///< features / 2 for each rotation
  std::vector<std::int64_t> single_buffers;  ///< elements of further fp32 buffers
  DecoderHead head;
  /// Prefix of all modules for question answering.
  std::string span_base = "model.";
};

struct LlamaShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_features = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  bool tied = false;  ///< the output layer uses the embedding's weight
  bool qkv_bias = false;
  bool output_bias = false;  ///< output bias of the attention
  bool feed_forward_bias = false;
};

/// One block of Llama.
BlockModules llama_block(const LlamaShape& shape);
DecoderShape llama_decoder(const LlamaShape& shape);

/// Defines the word embedding, looks the words up, and returns the embedding.
std::size_t look_up_words(ModuleRecorder& model, const DecoderShape& shape);
/// Runs the blocks and the last norm.
void run_decoder(ModuleRecorder& model, const DecoderShape& shape);

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const DecoderShape& shape, std::int64_t tokens,
                  AttentionKernel attention);
Model build_model(const std::string& name, const LlamaShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
