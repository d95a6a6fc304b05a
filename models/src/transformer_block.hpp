// One block of a transformer, described by its modules: attention, feed-forward or experts, and the
// norms around them. Families differ in names, biases, norms and definition order. The computation
// of a block is written once.
//
// A module without a name does not exist. `defined` lists a block's modules in definition order,
// which is the order of the parameters. Gradients become ready in the reverse of the run order.
// Source of both: transformers 5, modeling_*.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "module_recorder.hpp"

namespace ddpsim {

struct LinearModule {
  std::string name;
  bool bias = false;
  /// Its parameters are NAME_weight and NAME_bias, as in nn.MultiheadAttention, which copies the
  /// projections and the result of its attention into other layouts.
  bool of_multihead = false;
  bool exists() const { return !name.empty(); }
};

enum class NormKind {
  layer,
  /// A LayerNorm whose weight is its parameter plus one.
  layer_plus_one,
  rms,
};

struct NormModule {
  std::string name;
  NormKind kind = NormKind::layer;
  bool bias = false;
  bool weight = true;
  bool exists() const { return !name.empty(); }
};

enum class ActivationFunction { relu, gelu, gelu_written_out, silu };

/// Multi-head latent attention (DeepSeek): queries, keys and values are computed from a few latent
/// features.
struct LatentAttention {
  std::int64_t query_features = 0;  ///< 0: queries by one product
  std::int64_t key_features = 0;
  std::int64_t value_features = 0;  ///< features of one head
  LinearModule query_down;
  LinearModule key_down;
  LinearModule key_up;
  NormModule query_norm;
  NormModule key_norm;
};

/// Disentangled attention (DeBERTa): scores also depend on the distance. Each block projects the
/// embeddings of `rows` distances, with products of its own or with those of keys and queries.
struct DistanceModules {
  std::int64_t rows = 0;
  LinearModule key;    ///< content to position
  LinearModule query;  ///< position to content
  bool shared = false;
  /// Name of the table's parameter, if the block uses it without a module in between.
  std::string table;
};

/// What a norm of queries and keys covers.
enum class HeadNorm {
  /// One weight, as wide as a head, for all heads.
  head,
  all_heads,  ///< the features of all heads together
  own,        ///< each head has its own weight: [heads, features]
  /// Each head has its own norm: NAME.norms.0, NAME.norms.1, …
  modules,
};

struct AttentionModules {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_features = 0;
  /// Features of each head that are rotated by position; 0: none.
  std::int64_t rotated = 0;
  /// Without a `key`, one product computes queries, keys and values together.
  LinearModule query;
  LinearModule key;
  LinearModule value;
  /// Uses the keys and values of an earlier block.
  bool borrows_keys = false;
  /// Keys and values read an input of the model, whose gradient is not needed.
  bool given_memory = false;
  LinearModule output;
  NormModule query_norm;
  NormModule key_norm;
  HeadNorm norms_span = HeadNorm::head;
  bool norms_last = false;     ///< the norms run after all three projections
  bool key_norm_last = false;  ///< only the key norm runs after them
  std::optional<LatentAttention> latent;
  std::string sinks;  ///< a parameter, one entry per head
  /// Name of a parameter [rows, heads]: a bias of the scores by distance.
  std::string score_table;
  std::int64_t score_rows = 0;
  bool score_first = false;  ///< looked up before the block's first norm
  std::optional<DistanceModules> distance;
  /// Tokens of one window, beyond which attention does not look; 0: all.
  std::int64_t window = 0;
  bool causal = false;
  bool dropout = false;
};

struct ExpertModules {
  std::int64_t count = 0;
  std::int64_t active = 0;    ///< experts that each token uses
  std::int64_t features = 0;  ///< features of one expert
  LinearModule router;
  std::string router_scale;   ///< parameter: scale of the router's input
  std::string expert_scale;   ///< parameter: scale of each expert's output
  NormModule before_experts;  ///< the norm after the router
  /// The norm after a dense feed-forward, which runs in addition to the experts.
  NormModule beside;
  NormModule behind;  ///< in that case, the norm after the experts
  /// [count, 2 * features, hidden]; gate and value in one.
  std::string first_weight;
  std::string last_weight;  ///< [count, hidden, features]
  std::string first_bias;
  std::string last_bias;
  bool input_first = false;  ///< weights are [count, in, out]
  std::int64_t shared_features = 0;
  /// Gate of the shared expert, which processes every token.
  LinearModule shared_gate;
  LinearModule shared_up;
  LinearModule shared_down;
  LinearModule shared_weight;  ///< scales the shared expert's output
  bool shared_first = false;   ///< it runs before the router
};

struct FeedForwardModules {
  std::int64_t features = 0;
  ActivationFunction activation = ActivationFunction::gelu;
  /// Without a gate, the activation is between two products.
  LinearModule gate;
  LinearModule up;
  LinearModule down;
  bool gate_in_up = false;  ///< `up` computes both, one after the other
  bool dropout = false;     ///< between the products
  /// Run instead of the products above, or in addition to them if `beside` is set.
  std::optional<ExpertModules> experts;
};

/// Modules around an attention or a feed-forward.
struct BranchModules {
  NormModule before;
  NormModule inside;  ///< after the branch, before the sum
  std::string scale;  ///< a parameter that scales the branch's output
  NormModule behind;  ///< after the sum
};

struct BlockModules {
  std::int64_t hidden = 0;
  AttentionModules attention;
  BranchModules around_attention;
  std::optional<AttentionModules> cross;  ///< attends to the encoder's output
  BranchModules around_cross;
  FeedForwardModules feed_forward;
  BranchModules around_feed_forward;
  /// Attention and feed-forward read the same input.
  bool parallel = false;
  bool dropout = false;  ///< on the output of each branch
  std::string defined;   ///< the definition order
};

void run_norm(ModuleRecorder& model, const std::string& prefix, const NormModule& norm);
void run_activation(ModuleRecorder& model, const std::string& name, ActivationFunction function);
void run_attention(ModuleRecorder& model, const std::string& prefix,
                   const AttentionModules& attention, Activation memory);
void run_feed_forward(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden,
                      const FeedForwardModules& feed_forward);
/// `memory` is the sequence that `cross` attends to.
void run_block(ModuleRecorder& model, const std::string& prefix, const BlockModules& block,
               const Activation& memory = {});

}  // namespace ddpsim
