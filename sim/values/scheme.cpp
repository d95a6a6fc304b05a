#include "ddpsim/sim/values/scheme.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ddpsim/sim/values/data_loader.hpp"

namespace ddpsim {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string text_of(const std::optional<Dtype>& dtype) {
  return dtype ? std::string(name_of(*dtype)) : "parameters";
}

void add_wrap(Options& options, const WrapPolicy& wrap) {
  options.emplace_back("wrap", text_of(wrap));
  if (wrap.by == WrapPolicy::By::size)
    options.emplace_back("min_num_params", text_of(wrap.min_num_params));
}

Options all_of(const Ddp& /*scheme*/) {
  return {};
}

Options all_of(const NaiveAllReduce& scheme) {
  const bool at_once = scheme.when == NaiveAllReduce::When::gradient;
  return {{"when", at_once ? "gradient" : "backward"}, {"flat", text_of(scheme.flat)}};
}

/// `chosen`: whether the optimizer is fused is up to the user.
void add_offload(Options& options, const CpuOffload& offload, bool chosen) {
  if (!offload.any()) return;
  const auto rate = [](Bandwidth bandwidth) {
    return fmt::format("{:.6g}", bandwidth.gigabytes_per_second());
  };
  if (chosen) options.emplace_back("fused", text_of(offload.fused));
  if (offload.optimizer) options.emplace_back("cpu_rate", rate(offload.cpu_rate));
  options.emplace_back("pcie", rate(offload.pcie.value_or(kHostCopy)));
}

Options all_of(const Fsdp1& scheme) {
  Options options = {{"strategy", std::string(name_of(scheme.strategy))}};
  add_wrap(options, scheme.wrap);
  if (scheme.group) options.emplace_back("group", text_of(std::int64_t{*scheme.group}));
  options.emplace_back("backward_prefetch", name_of(scheme.backward_prefetch));
  options.emplace_back("forward_prefetch", text_of(scheme.forward_prefetch));
  options.emplace_back("limit_all_gathers", text_of(scheme.limit_all_gathers));
  options.emplace_back("use_orig_params", text_of(scheme.use_orig_params));
  options.emplace_back("param_dtype", text_of(scheme.param_dtype));
  options.emplace_back("reduce_dtype",
                       text_of(scheme.reduce_dtype ? scheme.reduce_dtype : scheme.param_dtype));
  options.emplace_back("no_sync", text_of(scheme.no_sync));
  if (scheme.offload.any()) options.emplace_back("cpu_offload", "true");
  add_offload(options, scheme.offload, true);
  return options;
}

Options all_of(const Fsdp2& scheme) {
  Options options = {
      {"reshard_after_forward", scheme.reshard_to ? text_of(std::int64_t{*scheme.reshard_to})
                                                  : text_of(scheme.reshard_after_forward)},
      {"reshard_root", text_of(scheme.reshard_root)}};
  add_wrap(options, scheme.wrap);
  if (scheme.group) options.emplace_back("group", text_of(std::int64_t{*scheme.group}));
  options.emplace_back("param_dtype", text_of(scheme.param_dtype));
  options.emplace_back("reduce_dtype",
                       text_of(scheme.reduce_dtype ? scheme.reduce_dtype : scheme.param_dtype));
  options.emplace_back("separate_groups", text_of(scheme.separate_groups));
  options.emplace_back("no_sync", text_of(scheme.no_sync));
  if (scheme.offload.any()) options.emplace_back("cpu_offload", "true");
  add_offload(options, scheme.offload, true);
  return options;
}

Options all_of(const Zero& scheme) {
  Options options = {{"reduce_bucket_size", text_of(scheme.reduce_bucket_size)},
                     {"overlap_comm", text_of(scheme.overlap_comm.value_or(scheme.stage == 3))}};
  if (scheme.stage < 3) {
    options.emplace_back("allgather_bucket_size", text_of(scheme.allgather_bucket_size));
  } else {
    add_wrap(options, scheme.wrap);
    options.emplace_back("stage3_prefetch_bucket_size",
                         text_of(scheme.stage3_prefetch_bucket_size));
    options.emplace_back("stage3_param_persistence_threshold",
                         text_of(scheme.stage3_param_persistence_threshold));
    options.emplace_back("stage3_max_live_parameters", text_of(scheme.stage3_max_live_parameters));
    options.emplace_back("stage3_max_reuse_distance", text_of(scheme.stage3_max_reuse_distance));
    options.emplace_back("zero_hpz_partition_size",
                         text_of(std::int64_t{scheme.zero_hpz_partition_size.value_or(1)}));
    options.emplace_back("zero_quantized_weights", text_of(scheme.zero_quantized_weights));
    options.emplace_back("zero_quantized_gradients", text_of(scheme.zero_quantized_gradients));
  }
  options.emplace_back("param_dtype", text_of(scheme.param_dtype));
  options.emplace_back("communication_data_type",
                       text_of(scheme.communication_data_type ? scheme.communication_data_type
                                                              : scheme.param_dtype));
  if (scheme.offload.optimizer) options.emplace_back("offload_optimizer", "cpu");
  if (scheme.offload.parameters) options.emplace_back("offload_param", "cpu");
  add_offload(options, scheme.offload, false);
  return options;
}

Options all_of(const MegatronOptimizer& scheme) {
  Options options = {{"overlap_grad_reduce", text_of(scheme.overlap_grad_reduce)},
                     {"overlap_param_gather", text_of(scheme.overlap_param_gather)}};
  if (scheme.bucket_size) options.emplace_back("bucket_size", text_of(*scheme.bucket_size));
  options.emplace_back("param_dtype", text_of(scheme.param_dtype));
  options.emplace_back("grad_reduce_in_fp32", text_of(scheme.grad_reduce_in_fp32));
  return options;
}

Options all_of(const ZeroRedundancy& scheme) {
  Options options = {{"parameters_as_bucket_view", text_of(scheme.parameters_as_bucket_view)}};
  if (scheme.overlap_with_ddp) options.emplace_back("overlap_with_ddp", "true");
  return options;
}

/// Megabytes, exactly.
std::string megabytes(Bytes bytes) {
  return fmt::format("{}", static_cast<double>(bytes.count()) / 1e6);
}

Options all_of(const DataParallel& scheme) {
  return {{"input_mb", megabytes(scheme.inputs)}, {"output_mb", megabytes(scheme.outputs)}};
}

Options all_of(const ParameterServer& scheme) {
  const bool cut = scheme.placement == ParameterServer::Placement::partitioned;
  Options options = {{"mode", scheme.mode == ParameterServer::Mode::sync ? "sync" : "async"}};
  if (scheme.host)
    options.emplace_back("servers", "host");
  else if (scheme.servers)
    options.emplace_back("servers", text_of(std::int64_t{*scheme.servers}));
  options.emplace_back("placement", cut ? "partitioned" : "whole");
  if (cut) options.emplace_back("partition_mb", megabytes(scheme.partition));
  options.emplace_back("update",
                       scheme.update == ParameterServer::Update::server ? "server" : "worker");
  options.emplace_back("pull", name_of(scheme.pull));
  if (!scheme.host) options.emplace_back("colocated", text_of(scheme.colocated));
  options.emplace_back("server_bandwidth",
                       fmt::format("{}", scheme.server_bandwidth.gigabytes_per_second()));
  return options;
}

Options all_of(const Compiled& scheme) {
  return {{"optimize_ddp", std::string(name_of(scheme.optimize_ddp))}};
}

Options all_of(const PeriodicAveraging& scheme) {
  if (scheme.hierarchy.empty()) return {{"period", text_of(std::int64_t{scheme.period})}};
  std::vector<std::string> levels;
  for (const AveragingLevel& level : scheme.hierarchy)
    levels.push_back(fmt::format("{}:{}", level.period, level.ranks));
  return {{"hierarchy", fmt::format("{}", fmt::join(levels, "+"))}};
}

Options all_of(const SlowMo& scheme) {
  Options options = {{"localsgd_frequency", text_of(std::int64_t{scheme.localsgd_frequency})},
                     {"slowmo_frequency", text_of(std::int64_t{scheme.slowmo_frequency})},
                     {"slowmo_memory_efficient", text_of(scheme.slowmo_memory_efficient)}};
  if (scheme.slowmo_memory_efficient)
    options.emplace_back("slowmo_num_shards", text_of(std::int64_t{scheme.slowmo_num_shards}));
  return options;
}

struct NameOf {
  std::string_view operator()(const Ddp& /*scheme*/) const { return "ddp"; }
  std::string_view operator()(const NaiveAllReduce& /*scheme*/) const { return "naive"; }
  std::string_view operator()(const Fsdp1& /*scheme*/) const { return "fsdp1"; }
  std::string_view operator()(const Fsdp2& /*scheme*/) const { return "fsdp2"; }
  std::string_view operator()(const Zero& scheme) const {
    return scheme.stage == 1 ? "zero1" : scheme.stage == 2 ? "zero2" : "zero3";
  }
  std::string_view operator()(const MegatronOptimizer& /*scheme*/) const { return "megatron"; }
  std::string_view operator()(const ZeroRedundancy& /*scheme*/) const { return "zero_redundancy"; }
  std::string_view operator()(const DataParallel& /*scheme*/) const { return "data_parallel"; }
  std::string_view operator()(const ParameterServer& /*scheme*/) const {
    return "parameter_server";
  }
  std::string_view operator()(const Compiled& /*scheme*/) const { return "compiled"; }
  std::string_view operator()(const PeriodicAveraging& /*scheme*/) const { return "local_sgd"; }
  std::string_view operator()(const SlowMo& /*scheme*/) const { return "slowmo"; }
};

struct FactsOf {
  using NotLogged = SchemeFacts::NotLogged;

  /// Parameters, gradients or the optimizer are shared out. `of_pytorch`: by PyTorch itself.
  static SchemeFacts sharding(bool of_pytorch) {
    return {.runs_reducer = false,
            .ranked_closely = of_pytorch,
            .allows_unused = of_pytorch,
            .one_at_a_time = false,
            .by_servers = false,
            .has_settings = true,
            .not_logged = NotLogged::gathers_and_scatters};
  }

  SchemeFacts operator()(const Ddp& /*scheme*/) const {
    return {.runs_reducer = true,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = true,
            .by_servers = false,
            .has_settings = true,
            .not_logged = NotLogged::none};
  }
  SchemeFacts operator()(const NaiveAllReduce& /*scheme*/) const {
    return {.runs_reducer = false,
            .ranked_closely = true,
            .allows_unused = true,
            .one_at_a_time = true,
            .by_servers = false,
            .has_settings = false,
            .not_logged = NotLogged::none};
  }
  SchemeFacts operator()(const Fsdp1& /*scheme*/) const { return sharding(true); }
  SchemeFacts operator()(const Fsdp2& /*scheme*/) const { return sharding(true); }
  SchemeFacts operator()(const Zero& /*scheme*/) const { return sharding(false); }
  SchemeFacts operator()(const MegatronOptimizer& /*scheme*/) const { return sharding(false); }
  SchemeFacts operator()(const ZeroRedundancy& /*scheme*/) const {
    return {.runs_reducer = true,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = false,
            .by_servers = false,
            .has_settings = true,
            .not_logged = NotLogged::none};
  }
  SchemeFacts operator()(const DataParallel& /*scheme*/) const {
    return {.runs_reducer = false,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = false,
            .by_servers = false,
            .has_settings = false,
            .not_logged = NotLogged::broadcasts_and_reduces};
  }
  SchemeFacts operator()(const ParameterServer& /*scheme*/) const {
    return {.runs_reducer = false,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = false,
            .by_servers = true,
            .has_settings = false,
            .not_logged = NotLogged::none};
  }
  SchemeFacts operator()(const Compiled& scheme) const {
    // The Python reducer stands in place of DDP's.
    const bool pieces = scheme.optimize_ddp != OptimizeDdp::python_reducer;
    return {.runs_reducer = pieces,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = true,
            .by_servers = false,
            .has_settings = pieces,
            .not_logged = NotLogged::none};
  }
  SchemeFacts operator()(const PeriodicAveraging& /*scheme*/) const {
    return {.runs_reducer = false,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = false,
            .by_servers = false,
            .has_settings = false,
            .not_logged = NotLogged::none};
  }
  SchemeFacts operator()(const SlowMo& /*scheme*/) const {
    return {.runs_reducer = false,
            .ranked_closely = true,
            .allows_unused = false,
            .one_at_a_time = false,
            .by_servers = false,
            .has_settings = false,
            .not_logged = NotLogged::broadcasts_and_reduces};
  }
};

template <typename Offload>
struct OffloadOf {
  Offload* operator()(auto& of) const {
    if constexpr (requires { of.offload; })
      return of.offload.any() ? &of.offload : nullptr;
    else
      return nullptr;
  }
};

}  // namespace

Scheme::Scheme() = default;
Scheme::Scheme(const Scheme& other) = default;
Scheme::Scheme(Scheme&& other) noexcept = default;
Scheme& Scheme::operator=(const Scheme& other) = default;
Scheme& Scheme::operator=(Scheme&& other) noexcept = default;
Scheme::~Scheme() = default;

std::string_view name_of(const Scheme& scheme) {
  return std::visit(NameOf(), scheme);
}

Options options_of(const Scheme& scheme) {
  return std::visit([](const auto& of) { return all_of(of); }, scheme);
}

std::string_view name_of(ShardingStrategy strategy) {
  switch (strategy) {
    case ShardingStrategy::full_shard:
      break;
    case ShardingStrategy::shard_grad_op:
      return "shard_grad_op";
    case ShardingStrategy::no_shard:
      return "no_shard";
    case ShardingStrategy::hybrid_shard:
      return "hybrid_shard";
    case ShardingStrategy::hybrid_shard_zero2:
      return "hybrid_shard_zero2";
  }
  return "full_shard";
}

std::string_view name_of(BackwardPrefetch prefetch) {
  switch (prefetch) {
    case BackwardPrefetch::pre:
      break;
    case BackwardPrefetch::post:
      return "post";
    case BackwardPrefetch::none:
      return "none";
  }
  return "pre";
}

std::string_view name_of(ParameterServer::Pull pull) {
  switch (pull) {
    case ParameterServer::Pull::forward:
      break;
    case ParameterServer::Pull::backward:
      return "backward";
    case ParameterServer::Pull::priority:
      return "priority";
  }
  return "forward";
}

std::string text_of(const WrapPolicy& wrap) {
  switch (wrap.by) {
    case WrapPolicy::By::blocks:
      break;
    case WrapPolicy::By::none:
      return "none";
    case WrapPolicy::By::leaves:
      return "leaves";
    case WrapPolicy::By::size:
      return "size";
    case WrapPolicy::By::modules:
      return fmt::format("{}", fmt::join(wrap.modules, "+"));
  }
  return "blocks";
}

std::string_view name_of(OptimizeDdp mode) {
  switch (mode) {
    case OptimizeDdp::ddp_optimizer:
      break;
    case OptimizeDdp::no_optimization:
      return "no_optimization";
    case OptimizeDdp::python_reducer:
      return "python_reducer";
  }
  return "ddp_optimizer";
}

CpuOffload* offload_of(Scheme& scheme) {
  return std::visit(OffloadOf<CpuOffload>(), scheme);
}

const CpuOffload* offload_of(const Scheme& scheme) {
  return std::visit(OffloadOf<const CpuOffload>(), scheme);
}

SchemeFacts facts_of(const Scheme& scheme) {
  return std::visit(FactsOf(), scheme);
}

bool uses_reducer(const Scheme& scheme) {
  return facts_of(scheme).runs_reducer;
}

const Compiled* compiled_pieces(const Scheme& scheme) {
  const Compiled* compiled = std::get_if<Compiled>(&scheme);
  const bool pieces = compiled != nullptr && compiled->optimize_ddp != OptimizeDdp::python_reducer;
  return pieces ? compiled : nullptr;
}

std::vector<int> groups_of(const Scheme& scheme, int gpus_per_node) {
  std::vector<int> groups;
  if (const Fsdp1* fsdp = std::get_if<Fsdp1>(&scheme)) {
    if (is_hybrid(fsdp->strategy)) groups.push_back(fsdp->group.value_or(gpus_per_node));
  } else if (const Fsdp2* fsdp2 = std::get_if<Fsdp2>(&scheme)) {
    if (fsdp2->group) groups.push_back(*fsdp2->group);
    if (fsdp2->reshard_to) groups.push_back(*fsdp2->reshard_to);
  } else if (const Zero* zero = std::get_if<Zero>(&scheme)) {
    if (zero->zero_hpz_partition_size) groups.push_back(*zero->zero_hpz_partition_size);
  } else if (const ParameterServer* servers = std::get_if<ParameterServer>(&scheme)) {
    if (!servers->host && gpus_per_node > 1) groups.push_back(gpus_per_node);
  } else if (const PeriodicAveraging* averaging = std::get_if<PeriodicAveraging>(&scheme)) {
    for (std::size_t k = 0; k + 1 < averaging->hierarchy.size(); ++k)
      groups.push_back(averaging->hierarchy[k].ranks);
  } else if (std::holds_alternative<SlowMo>(scheme)) {
    groups.push_back(gpus_per_node);
  }
  return groups;
}

}  // namespace ddpsim
