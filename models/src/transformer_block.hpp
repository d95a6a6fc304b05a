// One block of a transformer, described by its modules: attention, feed-forward or experts, and the norms around them.
// Families differ in names, biases, norms and the order in which modules are defined; what a block computes is written once.
//
// A module without a name is not there. `defined` lists a block's modules in the order of definition, which is that of the
// parameters; gradients become ready against the order in which they run. Source of both: transformers 5, modeling_*.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "module_recorder.hpp"

namespace ddpsim {

struct LinearModule {
  std::string name;
  bool bias = false;
  bool exists() const { return !name.empty(); }
};

enum class NormKind {
  layer,
  layer_plus_one,  ///< a LayerNorm whose weight is one more than its parameter
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

/// Multi-head latent attention (DeepSeek): queries, and keys with values, by way of a few features.
struct LatentAttention {
  std::int64_t query_features = 0;  ///< 0: queries by one product
  std::int64_t key_features = 0;
  std::int64_t value_features = 0;  ///< of a head
  LinearModule query_down;
  LinearModule key_down;
  LinearModule key_up;
  NormModule query_norm;
  NormModule key_norm;
};

/// Disentangled attention (DeBERTa): scores also by distance. The embeddings of `rows` distances are projected in each block,
/// by products of their own or by those of keys and queries.
struct DistanceModules {
  std::int64_t rows = 0;
  LinearModule key;    ///< content to position
  LinearModule query;  ///< position to content
  bool shared = false;
  std::string table;  ///< the parameter, where nothing stands between it and the block
};

/// What a norm of queries and keys spans.
enum class HeadNorm {
  head,       ///< one weight of a head's width for all heads
  all_heads,  ///< the features of all heads together
  own,        ///< each head has a weight of its own: [heads, features]
  modules,    ///< each head has a norm of its own: NAME.norms.0, NAME.norms.1, …
};

struct AttentionModules {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_features = 0;
  std::int64_t rotated = 0;  ///< features of each head turned by their position; 0: none
  LinearModule query;        ///< where there is no `key`: queries, keys and values in one
  LinearModule key;
  LinearModule value;
  bool borrows_keys = false;  ///< keys and values of an earlier block
  LinearModule output;
  NormModule query_norm;
  NormModule key_norm;
  HeadNorm norms_span = HeadNorm::head;
  bool norms_last = false;     ///< they run behind all three projections
  bool key_norm_last = false;  ///< that of the keys alone does
  std::optional<LatentAttention> latent;
  std::string sinks;        ///< a parameter, one for each head
  std::string score_table;  ///< a parameter [rows, heads]: a bias of the scores by distance
  std::int64_t score_rows = 0;
  bool score_first = false;  ///< it is looked up before the block's first norm
  std::optional<DistanceModules> distance;
  std::int64_t window = 0;  ///< tokens of one window, beyond which attention does not look; 0: all
  bool causal = false;
  bool dropout = false;
};

struct ExpertModules {
  std::int64_t count = 0;
  std::int64_t active = 0;    ///< of them for each token
  std::int64_t features = 0;  ///< of one
  LinearModule router;
  std::string router_scale;   ///< parameters: of the router's input …
  std::string expert_scale;   ///< … and of what each expert gives
  NormModule before_experts;  ///< behind the router
  NormModule beside;  ///< the experts run beside a dense feed-forward; the norm behind that …
  NormModule behind;  ///< … and behind the experts
  std::string first_weight;  ///< [count, 2 * features, hidden]; gate and value in one
  std::string last_weight;   ///< [count, hidden, features]
  std::string first_bias;
  std::string last_bias;
  bool input_first = false;  ///< weights are [count, in, out]
  std::int64_t shared_features = 0;
  LinearModule shared_gate;  ///< of the shared expert, which every token passes
  LinearModule shared_up;
  LinearModule shared_down;
  LinearModule shared_weight;  ///< what its result is multiplied by
  bool shared_first = false;   ///< it runs before the router
};

struct FeedForwardModules {
  std::int64_t features = 0;
  ActivationFunction activation = ActivationFunction::gelu;
  LinearModule gate;  ///< without one the activation stands between two products
  LinearModule up;
  LinearModule down;
  bool gate_in_up = false;               ///< `up` gives both, one behind the other
  bool dropout = false;                  ///< between the products
  std::optional<ExpertModules> experts;  ///< in place of the products above, or `beside` them
};

/// What stands around an attention or a feed-forward.
struct BranchModules {
  NormModule before;
  NormModule inside;  ///< behind it, before the sum
  std::string scale;  ///< a parameter that its result is multiplied by
  NormModule behind;  ///< behind the sum
};

struct BlockModules {
  std::int64_t hidden = 0;
  AttentionModules attention;
  BranchModules around_attention;
  std::optional<AttentionModules> cross;  ///< to the encoder's output
  BranchModules around_cross;
  FeedForwardModules feed_forward;
  BranchModules around_feed_forward;
  bool parallel = false;  ///< attention and feed-forward of the same input
  bool dropout = false;   ///< of what a branch gives
  std::string defined;    ///< the order of definition
};

void run_norm(ModuleRecorder& model, const std::string& prefix, const NormModule& norm);
void run_activation(ModuleRecorder& model, const std::string& name, ActivationFunction function);
void run_attention(ModuleRecorder& model, const std::string& prefix,
                   const AttentionModules& attention, Activation memory);
void run_feed_forward(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden,
                      const FeedForwardModules& feed_forward);
/// `memory`: what `cross` attends to.
void run_block(ModuleRecorder& model, const std::string& prefix, const BlockModules& block,
               const Activation& memory = {});

}  // namespace ddpsim
