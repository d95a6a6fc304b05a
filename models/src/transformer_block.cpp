#include "transformer_block.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

void run_linear(ModuleRecorder& model, const std::string& prefix, const LinearModule& linear,
                std::int64_t out) {
  const std::string name = prefix + linear.name;
  if (linear.of_multihead)
    model.linear_of(name + "_weight", name + "_bias", out);
  else
    model.linear(name, out, linear.bias);
}

/// Norm of the features of each head, or of all heads. The activation keeps its shape.
void norm_of_heads(ModuleRecorder& model, const std::string& prefix, const NormModule& norm,
                   std::int64_t heads, const AttentionModules& attention) {
  if (!norm.exists()) return;
  const std::string name = prefix + norm.name;
  const std::int64_t features = attention.head_features;
  if (attention.norms_span == HeadNorm::modules) {
    const Activation whole = model.activation();
    for (std::int64_t head = 0; head < heads; ++head) {
      Activation one = whole;
      one.channels = features;
      model.continue_from(one);
      model.layer_norm(name + ".norms." + std::to_string(head), norm.bias);
    }
    model.continue_from(whole);
    return;
  }
  std::vector<std::int64_t> shape = {features};
  if (attention.norms_span == HeadNorm::all_heads) shape = {heads * features};
  if (attention.norms_span == HeadNorm::own) shape = {heads, features};
  if (norm.kind == NormKind::rms)
    model.rms_norm(name, shape);
  else
    model.layer_norm(name, norm.bias, shape);
}

/// Queries, keys and values by one product each. The activation becomes the queries.
void project_heads(ModuleRecorder& model, const std::string& prefix,
                   const AttentionModules& attention, const Activation& memory) {
  const std::int64_t queries = attention.heads * attention.head_features;
  const std::int64_t keys = attention.key_heads * attention.head_features;
  const bool norms_first = !attention.norms_last;
  run_linear(model, prefix, attention.query, queries);
  if (attention.rotated > 0) model.free_output();  // the rotated copy is kept
  if (norms_first) norm_of_heads(model, prefix, attention.query_norm, attention.heads, attention);
  Activation query = model.activation();
  if (attention.key.exists()) {
    model.continue_from(memory);
    run_linear(model, prefix, attention.key, keys);
    if (attention.given_memory) model.reads_given();
    if (attention.rotated > 0) model.free_output();
    if (norms_first && !attention.key_norm_last)
      norm_of_heads(model, prefix, attention.key_norm, attention.key_heads, attention);
  }
  if (attention.value.exists()) {
    model.continue_from(memory);
    run_linear(model, prefix, attention.value, keys);
    if (attention.given_memory) model.reads_given();
  }
  if (attention.norms_last || attention.key_norm_last) {
    model.continue_from(query);
    if (attention.norms_last)
      norm_of_heads(model, prefix, attention.query_norm, attention.heads, attention);
    if (attention.key.exists()) {
      model.continue_from({.channels = keys, .height = memory.height, .width = memory.width});
      norm_of_heads(model, prefix, attention.key_norm, attention.key_heads, attention);
    }
  }
  if (attention.rotated > 0) {
    const std::int64_t heads = attention.heads + (attention.key.exists() ? attention.key_heads : 0);
    model.rotate_positions(prefix + "rotary", heads * attention.rotated,
                           heads * attention.head_features);
    query.single = false;  // attention's cast is one of the rotation's
  }
  model.continue_from(query);
}

/// One product for queries, keys and values. The activation becomes the queries.
void project_together(ModuleRecorder& model, const std::string& prefix,
                      const AttentionModules& attention) {
  const std::int64_t turned = (attention.heads + attention.key_heads) * attention.head_features;
  run_linear(model, prefix, attention.query,
             turned + attention.key_heads * attention.head_features);
  Activation query = model.activation();
  if (attention.rotated > 0)
    model.rotate_positions(prefix + "rotary",
                           (attention.heads + attention.key_heads) * attention.rotated, turned);
  // Forward copies all three. Backward puts their gradients into three tensors of zeros, and sums
  // these.
  if (attention.query.of_multihead) {
    model.free_output();
    model.elementwise(prefix + "layout", {.forward = 2, .backward = 12, .kernels = 4});
  }
  query.channels = attention.heads * attention.head_features;
  model.continue_from(query);
}

/// Projects through latent features. The activation becomes the queries. All heads share the
/// rotated keys.
void project_by_latent(ModuleRecorder& model, const std::string& prefix,
                       const AttentionModules& attention) {
  const LatentAttention& latent = *attention.latent;
  const Activation given = model.activation();
  const std::int64_t still = attention.head_features - attention.rotated;
  if (latent.query_features > 0) {
    run_linear(model, prefix, latent.query_down, latent.query_features);
    run_norm(model, prefix, latent.query_norm);
  }
  run_linear(model, prefix, attention.query, attention.heads * attention.head_features);
  const Activation query = model.activation();
  model.continue_from(given);
  run_linear(model, prefix, latent.key_down, latent.key_features + attention.rotated);
  Activation few = given;
  few.channels = latent.key_features;
  model.continue_from(few);
  run_norm(model, prefix, latent.key_norm);
  run_linear(model, prefix, latent.key_up, attention.heads * (still + latent.value_features));
  model.continue_from(query);
  model.rotate_positions(prefix + "rotary", (attention.heads + 1) * attention.rotated,
                         2 * attention.heads * attention.head_features);
  model.continue_from(query);
}

/// Gate and value are the two halves of the last product's output.
void gate_halves(ModuleRecorder& model, const std::string& prefix, std::int64_t features,
                 ActivationFunction function) {
  Activation half = model.activation();
  half.channels = features;
  model.continue_from(half);
  run_activation(model, prefix + "act_fn", function);
  model.gate(prefix + "gate");
}

void run_shared_expert(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden,
                       const FeedForwardModules& feed_forward, const Activation& normed) {
  const ExpertModules& experts = *feed_forward.experts;
  model.continue_from(normed);
  run_linear(model, prefix, experts.shared_gate, experts.shared_features);
  run_activation(model, prefix + "shared.act_fn", feed_forward.activation);
  model.continue_from(normed);
  run_linear(model, prefix, experts.shared_up, experts.shared_features);
  model.gate(prefix + "shared.gate");
  run_linear(model, prefix, experts.shared_down, hidden);
}

/// Each token uses `active` of the experts, so the products run over `active` positions for each
/// token. Tokens are sorted by expert before, and summed up after.
void run_experts(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden,
                 const FeedForwardModules& feed_forward) {
  const ExpertModules& experts = *feed_forward.experts;
  const Activation normed = model.activation();
  if (experts.shared_features > 0 && experts.shared_first)
    run_shared_expert(model, prefix, hidden, feed_forward, normed);
  model.continue_from(normed);
  if (!experts.router_scale.empty()) {
    model.rms_norm(prefix + "router.norm", {});
    model.elementwise(prefix + experts.router_scale, {.forward = 2, .backward = 4});
    model.with_parameter(prefix + experts.router_scale, {hidden});
  }
  run_linear(model, prefix, experts.router, experts.count);
  model.elementwise(prefix + "router.softmax",
                    {.forward = 2, .backward = 3, .kernels = 2, .single_precision = true});
  if (!experts.expert_scale.empty())
    model.with_parameter(prefix + experts.expert_scale, {experts.count});
  model.continue_from(normed);
  run_norm(model, prefix, experts.before_experts);
  Activation sent = normed;
  sent.height *= experts.active;
  model.continue_from(sent);
  model.elementwise(prefix + "experts.sort", {.forward = 2, .backward = 2});
  model.experts(prefix + experts.first_weight, experts.count, 2 * experts.features,
                experts.input_first);
  if (!experts.first_bias.empty())
    model.with_parameter(prefix + experts.first_bias, {experts.count, 2 * experts.features});
  gate_halves(model, prefix + "experts.", experts.features, feed_forward.activation);
  model.experts(prefix + experts.last_weight, experts.count, hidden, experts.input_first);
  if (!experts.last_bias.empty())
    model.with_parameter(prefix + experts.last_bias, {experts.count, hidden});
  model.elementwise(prefix + "experts.sum", {.forward = 4, .backward = 4, .kernels = 2});
  if (experts.shared_features > 0) {
    if (!experts.shared_first) run_shared_expert(model, prefix, hidden, feed_forward, normed);
    if (experts.shared_weight.exists()) {
      model.continue_from(normed);
      run_linear(model, prefix, experts.shared_weight, 1);
      model.continue_from(normed);
      model.elementwise(prefix + "shared.weigh", {.forward = 2, .backward = 4, .kernels = 2});
    }
    Activation sum = normed;
    sum.single = false;
    model.continue_from(sum);
    model.add(prefix + "shared.add", sum);
  }
  model.continue_from(normed);
}

/// Projects the distances, then adds to the scores the products of queries and of keys with them.
void run_distance_scores(ModuleRecorder& model, const std::string& prefix,
                         const AttentionModules& attention, const Activation& memory) {
  const DistanceModules& distance = *attention.distance;
  const Activation queries = model.activation();
  const std::int64_t features = attention.heads * attention.head_features;
  const auto score = [&](const LinearModule& own, const LinearModule& shared) {
    if (!own.exists()) return;
    model.continue_from({.channels = attention.hidden, .height = distance.rows, .single = true});
    model.linear_again(prefix + (distance.shared ? shared : own).name, features, own.bias);
    if (!distance.table.empty())
      model.with_parameter(distance.table, {distance.rows, attention.hidden});
    model.continue_from(queries);
    model.score(prefix + own.name + ".scores", attention.heads, attention.head_features,
                distance.rows);
    model.continue_from(
        {.channels = attention.heads * memory.positions(), .height = queries.height});
    model.elementwise(prefix + own.name + ".gather", {.forward = 5, .backward = 4, .kernels = 2});
  };
  score(distance.key, attention.key);
  score(distance.query, attention.query);
  model.continue_from(queries);
}

/// Adds a bias to each score, which depends on the distance of its tokens.
void look_up_scores(ModuleRecorder& model, const std::string& prefix,
                    const AttentionModules& attention, const Activation& memory) {
  if (attention.score_table.empty()) return;
  model.look_up_for_scores(
      model.table(prefix + attention.score_table, attention.score_rows, attention.heads),
      model.activation().positions() * memory.positions());
}

/// Joins the sinks to the scores, subtracts each row's maximum, and casts the weights.
void run_sinks(ModuleRecorder& model, const std::string& prefix, const AttentionModules& attention,
               const Activation& memory) {
  const Activation queries = model.activation();
  model.continue_from(
      {.channels = attention.heads * memory.positions(), .height = queries.positions()});
  model.elementwise(prefix + "sinks", {.forward = 6, .backward = 12, .kernels = 5});
  model.continue_from(queries);
}

/// Number of modules that read the attention's input. Backward sums their gradients.
int readers_of_attention(const AttentionModules& attention) {
  if (attention.latent) return 2;
  return attention.key.exists() ? (attention.value.exists() ? 3 : 2) : 1;
}

int readers_of_feed_forward(const FeedForwardModules& feed_forward) {
  if (feed_forward.experts && !feed_forward.experts->beside.exists())
    return feed_forward.experts->shared_features > 0 ? 4 : 2;
  return feed_forward.gate.exists() ? 2 : 1;
}

void end_branch(ModuleRecorder& model, const std::string& prefix, const std::string& name,
                const BranchModules& around, const BlockModules& block, const Activation& given) {
  run_norm(model, prefix, around.inside);
  if (!around.scale.empty()) {
    model.elementwise(prefix + around.scale, {.forward = 2, .backward = 4});
    model.with_parameter(prefix + around.scale, {block.hidden});
  }
  if (block.dropout) model.dropout(prefix + name + ".dropout");
  model.add(prefix + name + ".add", given);
  run_norm(model, prefix, around.behind);
}

void begin_branch(ModuleRecorder& model, const std::string& prefix, const NormModule& before,
                  int readers) {
  if (!before.exists()) return model.read_by_products(readers);
  run_norm(model, prefix, before);
  if (readers > 1) model.used_by(readers);
}

/// Attention and feed-forward read the same input, with one shared norm or a norm each.
void run_parallel(ModuleRecorder& model, const std::string& prefix, const BlockModules& block) {
  const Activation given = model.activation();
  const bool one_norm = !block.around_feed_forward.before.exists();
  begin_branch(model, prefix, block.around_attention.before,
               readers_of_attention(block.attention) +
                   (one_norm ? readers_of_feed_forward(block.feed_forward) : 0));
  const Activation normed = model.activation();
  run_attention(model, prefix, block.attention, model.activation());
  const Activation attended = model.activation();
  model.continue_from(one_norm ? normed : given);
  if (!one_norm)
    begin_branch(model, prefix, block.around_feed_forward.before,
                 readers_of_feed_forward(block.feed_forward));
  run_feed_forward(model, prefix, block.hidden, block.feed_forward);
  model.add(prefix + "mlp.add", attended);
  model.add(prefix + "add", given);
}

}  // namespace

void run_norm(ModuleRecorder& model, const std::string& prefix, const NormModule& norm) {
  if (!norm.exists()) return;
  std::vector<std::int64_t> shape;
  if (norm.weight) shape.push_back(model.activation().channels);
  if (norm.kind == NormKind::rms)
    model.rms_norm(prefix + norm.name, shape);
  else
    model.layer_norm(prefix + norm.name, norm.bias, shape);
  if (norm.kind == NormKind::layer_plus_one) model.finish_weight_last();
}

void run_activation(ModuleRecorder& model, const std::string& name, ActivationFunction function) {
  switch (function) {
    case ActivationFunction::relu:
      return model.relu(name);
    case ActivationFunction::gelu:
      return model.gelu(name);
    case ActivationFunction::gelu_written_out:
      return model.gelu_written_out(name);
    case ActivationFunction::silu:
      return model.silu(name);
  }
}

void run_attention(ModuleRecorder& model, const std::string& prefix,
                   const AttentionModules& attention, Activation memory) {
  if (attention.latent)
    project_by_latent(model, prefix, attention);
  else if (attention.key.exists() || attention.borrows_keys)
    project_heads(model, prefix, attention, memory);
  else
    project_together(model, prefix, attention);
  Activation queries = model.activation();
  if (attention.window > 0) memory = {.height = std::min(attention.window, memory.positions())};
  if (attention.distance) run_distance_scores(model, prefix, attention, memory);
  if (!attention.score_first) look_up_scores(model, prefix, attention, memory);
  model.continue_from(queries);
  model.attention(prefix + "attention", {.heads = attention.heads,
                                         .keys = memory.positions(),
                                         .key_heads = attention.key_heads,
                                         .causal = attention.causal,
                                         .dropout = attention.dropout});
  if (!attention.sinks.empty()) {
    model.with_parameter(prefix + attention.sinks, {attention.heads});
    if (model.attention_kernel() == AttentionKernel::eager)
      run_sinks(model, prefix, attention, memory);
  }
  if (attention.latent) {
    queries.channels = attention.heads * attention.latent->value_features;
    model.continue_from(queries);
  }
  run_linear(model, prefix, attention.output, attention.hidden);
}

void run_feed_forward(ModuleRecorder& model, const std::string& prefix, std::int64_t hidden,
                      const FeedForwardModules& feed_forward) {
  const bool beside = feed_forward.experts && feed_forward.experts->beside.exists();
  if (feed_forward.experts && !beside) return run_experts(model, prefix, hidden, feed_forward);
  const Activation normed = model.activation();
  if (feed_forward.gate.exists()) {
    run_linear(model, prefix, feed_forward.gate, feed_forward.features);
    run_activation(model, prefix + "mlp.act_fn", feed_forward.activation);
    model.continue_from(normed);
    run_linear(model, prefix, feed_forward.up, feed_forward.features);
    model.gate(prefix + "mlp.gate");
  } else if (feed_forward.gate_in_up) {
    run_linear(model, prefix, feed_forward.up, 2 * feed_forward.features);
    gate_halves(model, prefix + "mlp.", feed_forward.features, feed_forward.activation);
  } else {
    run_linear(model, prefix, feed_forward.up, feed_forward.features);
    run_activation(model, prefix + "mlp.act_fn", feed_forward.activation);
  }
  if (feed_forward.dropout) model.dropout(prefix + "mlp.dropout");
  run_linear(model, prefix, feed_forward.down, hidden);
  if (!beside) return;
  run_norm(model, prefix, feed_forward.experts->beside);
  const Activation dense = model.activation();
  model.continue_from(normed);
  run_experts(model, prefix, hidden, feed_forward);
  run_norm(model, prefix, feed_forward.experts->behind);
  model.add(prefix + "experts.add", dense);
}

void run_block(ModuleRecorder& model, const std::string& prefix, const BlockModules& block,
               const Activation& memory) {
  const std::size_t first = model.defined();
  model.begin_block();
  if (block.parallel) {
    run_parallel(model, prefix, block);
  } else {
    if (block.attention.score_first)
      look_up_scores(model, prefix, block.attention, model.activation());
    const auto branch = [&](const char* branch_name, const BranchModules& around, int readers,
                            const auto& run) {
      const Activation given = model.activation();
      begin_branch(model, prefix, around.before, readers);
      run();
      end_branch(model, prefix, branch_name, around, block, given);
    };
    branch("attention", block.around_attention, readers_of_attention(block.attention),
           [&] { run_attention(model, prefix, block.attention, model.activation()); });
    if (block.cross)
      branch("cross", block.around_cross, 1,
             [&] { run_attention(model, prefix, *block.cross, memory); });
    branch("mlp", block.around_feed_forward, readers_of_feed_forward(block.feed_forward),
           [&] { run_feed_forward(model, prefix, block.hidden, block.feed_forward); });
  }
  model.end_block();
  if (!block.defined.empty()) model.define_in_order(first, prefix, block.defined);
}

}  // namespace ddpsim
