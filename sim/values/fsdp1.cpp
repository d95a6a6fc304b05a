#include "ddpsim/sim/values/fsdp1.hpp"

#include <utility>

namespace ddpsim {
namespace {

const WordTable<ShardingStrategy>& words_of_strategies() {
  static const WordTable<ShardingStrategy> table = {
      {ShardingStrategy::full_shard, "full_shard"},
      {ShardingStrategy::shard_grad_op, "shard_grad_op"},
      {ShardingStrategy::no_shard, "no_shard"},
      {ShardingStrategy::hybrid_shard, "hybrid_shard"},
      {ShardingStrategy::hybrid_shard_zero2, "hybrid_shard_zero2"}};
  return table;
}

const WordTable<BackwardPrefetch>& words_of_prefetches() {
  static const WordTable<BackwardPrefetch> table = {{BackwardPrefetch::pre, "pre"},
                                                    {BackwardPrefetch::post, "post"},
                                                    {BackwardPrefetch::none, "none"}};
  return table;
}

}  // namespace

std::string_view name_of(ShardingStrategy strategy) {
  return word_for(words_of_strategies(), strategy);
}

std::string_view name_of(BackwardPrefetch prefetch) {
  return word_for(words_of_prefetches(), prefetch);
}

SchemeFacts Fsdp1::facts() const {
  return sharding_facts(true, kUnknownOfPyTorch);
}

std::vector<SchemeOption> Fsdp1::options() {
  std::vector<SchemeOption> options =
      joined({word_option("strategy", strategy, words_of_strategies())}, wrap_options(wrap));
  options = joined(std::move(options),
                   {ranks_option("group", group),
                    word_option("backward_prefetch", backward_prefetch, words_of_prefetches()),
                    flag_option("forward_prefetch", forward_prefetch),
                    flag_option("limit_all_gathers", limit_all_gathers),
                    flag_option("use_orig_params", use_orig_params)});
  options =
      joined(std::move(options), mixed_precision_options(param_dtype, reduce_dtype, own_types));
  options.push_back(flag_option("no_sync", no_sync));
  return joined(std::move(options), cpu_offload_options(offload));
}

std::vector<int> Fsdp1::groups(int gpus_per_node) const {
  if (!is_hybrid(strategy)) return {};
  return {group.value_or(gpus_per_node)};
}

}  // namespace ddpsim
