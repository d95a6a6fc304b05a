#include "scheme_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "ddp_arguments.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"

namespace ddpsim {
namespace {

constexpr const char* kHelp =
    "how it is trained data-parallel: ddp (default), naive, fsdp1, fsdp2, zero1, zero2, zero3, "
    "megatron, zero_redundancy, data_parallel, parameter_server, compiled, local_sgd, slowmo; "
    "options "
    "behind a colon: "
    "fsdp2:param_dtype=bf16,wrap=blocks "
    "(docs/schemes.md)";
constexpr const char* kType = "NAME[:KEY=VALUE,…]";

[[noreturn]] void fail(std::string_view message) {
  throw UsageError(fmt::format("--scheme: {}", message));
}

template <typename Number>
Number count_of(const std::string& value, Number least) {
  const auto exact = parse_number<double>(value);
  constexpr double kMost = std::is_same_v<Number, int> ? 1e6 : 1e15;
  const bool whole = exact && *exact >= static_cast<double>(least) && *exact <= kMost &&
                     *exact == static_cast<double>(static_cast<Number>(*exact));
  if (!whole)
    throw WrongValue(fmt::format("expected a whole number from {} to {:g}, not {}", least, kMost,
                                 in_quotes(value)));
  return static_cast<Number>(*exact);
}

OptionKey elements(const std::string& name, std::int64_t& into, std::int64_t least = 1) {
  return {name, [&into, least](const std::string& value) {
            into = count_of<std::int64_t>(value, least);
          }};
}
OptionKey ranks(const std::string& name, std::optional<int>& into) {
  return {name, [&into](const std::string& value) { into = count_of<int>(value, 1); }};
}

OptionKey dtype(const std::string& name, std::optional<Dtype>& into) {
  return {name, [&into](const std::string& value) {
            into = one_of<std::optional<Dtype>>(value, {{"bf16", Dtype::bfloat16},
                                                        {"bfloat16", Dtype::bfloat16},
                                                        {"fp16", Dtype::float16},
                                                        {"float16", Dtype::float16},
                                                        {"fp32", Dtype::float32},
                                                        {"float32", Dtype::float32},
                                                        {"parameters", std::nullopt}});
          }};
}

/// "blocks", "none", "leaves", "size", or paths joined by '+'.
OptionKey wrap(WrapPolicy& into) {
  return {"wrap", [&into](const std::string& value) {
            using By = WrapPolicy::By;
            for (const By by : {By::blocks, By::none, By::leaves, By::size})
              if (value == text_of(WrapPolicy{.by = by, .modules = {}})) {
                into.by = by;
                return;
              }
            into.by = By::modules;
            for (const std::string_view path : split(value, '+')) {
              if (path.empty())
                throw WrongValue(
                    "expected blocks, none, leaves, size, or paths of modules as in "
                    "layers.*+head");
              into.modules.emplace_back(path);
            }
          }};
}

OptionKey rate(const std::string& name, const std::function<void(Bandwidth)>& take) {
  return {name, [take](const std::string& value) {
            const auto exact = parse_number<double>(value);
            if (!exact || !(*exact >= 0.001 && *exact <= 1e6))
              throw WrongValue(
                  fmt::format("expected GB/s from 0.001 to 1e+06, not {}", in_quotes(value)));
            take(Bandwidth::gigabytes_per_second(*exact));
          }};
}

std::vector<OptionKey> rates(CpuOffload& offload) {
  return {rate("cpu_rate",
               [&offload](Bandwidth given) {
                 offload.cpu_rate = given;
                 offload.cpu_rate_assumed = false;
               }),
          rate("pcie", [&offload](Bandwidth given) { offload.pcie = given; })};
}

/// FSDP's: all of it, or nothing.
std::vector<OptionKey> cpu_offload(CpuOffload& offload) {
  std::vector<OptionKey> keys = rates(offload);
  keys.push_back({"cpu_offload", [&offload](const std::string& value) {
                    offload.optimizer = offload.parameters =
                        one_of<bool>(value, {{"true", true}, {"false", false}});
                  }});
  keys.push_back(flag_key("fused", offload.fused));
  return keys;
}

/// DeepSpeed's device of `name`.
OptionKey device(const std::string& name, bool& on_cpu) {
  return {name, [&on_cpu](const std::string& value) {
            on_cpu = one_of<bool>(value, {{"cpu", true}, {"none", false}});
          }};
}

std::vector<OptionKey> joined(std::vector<OptionKey> keys, std::vector<OptionKey> more) {
  keys.insert(keys.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  return keys;
}

std::vector<OptionKey> keys_of(Ddp& /*scheme*/) {
  return {};
}

std::vector<OptionKey> keys_of(NaiveAllReduce& scheme) {
  using When = NaiveAllReduce::When;
  return {{"when",
           [&scheme](const std::string& value) {
             scheme.when =
                 one_of<When>(value, {{"gradient", When::gradient}, {"backward", When::backward}});
           }},
          flag_key("flat", scheme.flat)};
}

std::vector<OptionKey> keys_of(Fsdp1& scheme) {
  const auto strategy = [&scheme](const std::string& value) {
    std::vector<std::pair<std::string, ShardingStrategy>> known;
    for (const ShardingStrategy one :
         {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op, ShardingStrategy::no_shard,
          ShardingStrategy::hybrid_shard, ShardingStrategy::hybrid_shard_zero2})
      known.emplace_back(name_of(one), one);
    scheme.strategy = one_of<ShardingStrategy>(value, known);
  };
  const auto prefetch = [&scheme](const std::string& value) {
    scheme.backward_prefetch = one_of<BackwardPrefetch>(value, {{"pre", BackwardPrefetch::pre},
                                                                {"post", BackwardPrefetch::post},
                                                                {"none", BackwardPrefetch::none}});
  };
  return joined({{"strategy", strategy},
                 wrap(scheme.wrap),
                 elements("min_num_params", scheme.wrap.min_num_params),
                 ranks("group", scheme.group),
                 {"backward_prefetch", prefetch},
                 flag_key("forward_prefetch", scheme.forward_prefetch),
                 flag_key("limit_all_gathers", scheme.limit_all_gathers),
                 flag_key("use_orig_params", scheme.use_orig_params),
                 dtype("param_dtype", scheme.param_dtype),
                 dtype("reduce_dtype", scheme.reduce_dtype),
                 flag_key("no_sync", scheme.no_sync)},
                cpu_offload(scheme.offload));
}

std::vector<OptionKey> keys_of(Fsdp2& scheme) {
  const auto reshard = [&scheme](const std::string& value) {
    if (value == "true" || value == "false")
      scheme.reshard_after_forward = value == "true";
    else
      scheme.reshard_to = count_of<int>(value, 2);
  };
  return joined({{"reshard_after_forward", reshard},
                 flag_key("reshard_root", scheme.reshard_root),
                 wrap(scheme.wrap),
                 elements("min_num_params", scheme.wrap.min_num_params),
                 ranks("group", scheme.group),
                 dtype("param_dtype", scheme.param_dtype),
                 dtype("reduce_dtype", scheme.reduce_dtype),
                 flag_key("separate_groups", scheme.separate_groups),
                 flag_key("no_sync", scheme.no_sync)},
                cpu_offload(scheme.offload));
}

std::vector<OptionKey> keys_of(Zero& scheme) {
  std::vector<OptionKey> keys = {elements("reduce_bucket_size", scheme.reduce_bucket_size),
                                 flag_key("overlap_comm", scheme.overlap_comm),
                                 dtype("param_dtype", scheme.param_dtype),
                                 dtype("communication_data_type", scheme.communication_data_type),
                                 device("offload_optimizer", scheme.offload.optimizer)};
  keys = joined(std::move(keys), rates(scheme.offload));
  if (scheme.stage < 3) {
    keys.push_back(elements("allgather_bucket_size", scheme.allgather_bucket_size));
    return keys;
  }
  keys.push_back(device("offload_param", scheme.offload.parameters));
  keys.push_back(wrap(scheme.wrap));
  keys.push_back(elements("min_num_params", scheme.wrap.min_num_params));
  keys.push_back(elements("stage3_prefetch_bucket_size", scheme.stage3_prefetch_bucket_size, 0));
  keys.push_back(
      elements("stage3_param_persistence_threshold", scheme.stage3_param_persistence_threshold, 0));
  keys.push_back(elements("stage3_max_live_parameters", scheme.stage3_max_live_parameters, 0));
  keys.push_back(elements("stage3_max_reuse_distance", scheme.stage3_max_reuse_distance, 0));
  keys.push_back(ranks("zero_hpz_partition_size", scheme.zero_hpz_partition_size));
  keys.push_back(flag_key("zero_quantized_weights", scheme.zero_quantized_weights));
  keys.push_back(flag_key("zero_quantized_gradients", scheme.zero_quantized_gradients));
  return keys;
}

std::vector<OptionKey> keys_of(MegatronOptimizer& scheme) {
  const auto bucket = [&scheme](const std::string& value) {
    scheme.bucket_size = count_of<std::int64_t>(value, 1);
  };
  return {flag_key("overlap_grad_reduce", scheme.overlap_grad_reduce),
          flag_key("overlap_param_gather", scheme.overlap_param_gather),
          {"bucket_size", bucket},
          dtype("param_dtype", scheme.param_dtype),
          flag_key("grad_reduce_in_fp32", scheme.grad_reduce_in_fp32)};
}

std::vector<OptionKey> keys_of(ZeroRedundancy& scheme) {
  return {flag_key("parameters_as_bucket_view", scheme.parameters_as_bucket_view),
          flag_key("overlap_with_ddp", scheme.overlap_with_ddp)};
}

/// Megabytes, of 10^6 bytes.
OptionKey megabytes(const std::string& name, Bytes& into, double least) {
  return {name, [&into, least](const std::string& value) {
            constexpr double kMost = 1e6;
            const auto exact = parse_number<double>(value);
            if (!exact || !(*exact >= least) || *exact > kMost)
              throw WrongValue(fmt::format("expected megabytes from {:g} to {:g}, not {}", least,
                                           kMost, in_quotes(value)));
            into = Bytes(static_cast<std::int64_t>(std::llround(*exact * 1e6)));
          }};
}

std::vector<OptionKey> keys_of(DataParallel& scheme) {
  return {megabytes("input_mb", scheme.inputs, 0), megabytes("output_mb", scheme.outputs, 0)};
}

std::vector<OptionKey> keys_of(ParameterServer& scheme) {
  using Mode = ParameterServer::Mode;
  using Placement = ParameterServer::Placement;
  using Update = ParameterServer::Update;
  using Pull = ParameterServer::Pull;
  const auto mode = [&scheme](const std::string& value) {
    scheme.mode = one_of<Mode>(value, {{"sync", Mode::sync}, {"async", Mode::async}});
  };
  const auto servers = [&scheme](const std::string& value) {
    scheme.host = value == "host";
    if (!scheme.host) scheme.servers = count_of<int>(value, 1);
  };
  const auto placement = [&scheme](const std::string& value) {
    scheme.placement = one_of<Placement>(
        value, {{"whole", Placement::whole}, {"partitioned", Placement::partitioned}});
  };
  const auto update = [&scheme](const std::string& value) {
    scheme.update = one_of<Update>(value, {{"server", Update::server}, {"worker", Update::worker}});
  };
  const auto pull = [&scheme](const std::string& value) {
    std::vector<std::pair<std::string, Pull>> known;
    for (const Pull one : {Pull::forward, Pull::backward, Pull::priority})
      known.emplace_back(name_of(one), one);
    scheme.pull = one_of<Pull>(value, known);
  };
  return {
      {"mode", mode},
      {"servers", servers},
      {"placement", placement},
      megabytes("partition_mb", scheme.partition, 0.001),
      {"update", update},
      {"pull", pull},
      flag_key("colocated", scheme.colocated),
      rate("server_bandwidth", [&scheme](Bandwidth given) { scheme.server_bandwidth = given; })};
}

std::vector<OptionKey> keys_of(Compiled& scheme) {
  return {{"optimize_ddp", [&scheme](const std::string& value) {
             if (value == "python_reducer_without_compiled_forward")
               throw WrongValue(
                   "a forward that is not compiled beside a backward that is, is not "
                   "simulated; take python_reducer");
             std::vector<std::pair<std::string, OptimizeDdp>> known;
             for (const OptimizeDdp mode :
                  {OptimizeDdp::ddp_optimizer, OptimizeDdp::no_optimization,
                   OptimizeDdp::python_reducer})
               known.emplace_back(name_of(mode), mode);
             scheme.optimize_ddp = one_of<OptimizeDdp>(value, known);
           }}};
}

OptionKey count(const std::string& name, int& into) {
  return {name, [&into](const std::string& value) { into = count_of<int>(value, 1); }};
}

/// "2:4+4:8+8:16": every 2 steps 4 ranks, every 4 steps 8, every 8 steps 16.
std::vector<AveragingLevel> levels_of(const std::string& value) {
  std::vector<AveragingLevel> levels;
  for (const std::string_view item : split(value, '+')) {
    const std::string level(item);
    const std::size_t colon = level.find(':');
    if (colon == level.npos)
      throw WrongValue(
          fmt::format("expected PERIOD:RANKS, more of them behind a '+', as in 4:8+16:16, not {}",
                      in_quotes(value)));
    levels.push_back({.period = count_of<int>(level.substr(0, colon), 1),
                      .ranks = count_of<int>(level.substr(colon + 1), 1)});
  }
  return levels;
}

std::vector<OptionKey> keys_of(PeriodicAveraging& scheme) {
  const auto hierarchy = [&scheme](const std::string& value) {
    scheme.hierarchy = levels_of(value);
  };
  return {count("period", scheme.period), {"hierarchy", hierarchy}};
}

std::vector<OptionKey> keys_of(SlowMo& scheme) {
  return {count("localsgd_frequency", scheme.localsgd_frequency),
          count("slowmo_frequency", scheme.slowmo_frequency),
          flag_key("slowmo_memory_efficient", scheme.slowmo_memory_efficient),
          count("slowmo_num_shards", scheme.slowmo_num_shards)};
}

/// With its library's defaults.
Scheme named(const std::string& name) {
  const std::vector<std::pair<std::string, Scheme>> known = {
      {"ddp", Ddp()},
      {"naive", NaiveAllReduce()},
      {"fsdp1", Fsdp1()},
      {"fsdp2", Fsdp2()},
      {"zero1", Zero{.stage = 1}},
      {"zero2", Zero{.stage = 2}},
      {"zero3", Zero{.stage = 3}},
      {"megatron", MegatronOptimizer()},
      {"zero_redundancy", ZeroRedundancy()},
      {"data_parallel", DataParallel()},
      {"parameter_server", ParameterServer()},
      {"compiled", Compiled()},
      {"local_sgd", PeriodicAveraging()},
      {"slowmo", SlowMo()}};
  try {
    return one_of(name, known);
  } catch (const WrongValue& problem) {
    fail(fmt::format("name: {}", problem.what()));
  }
}

}  // namespace

void add_scheme_option(CLI::App& command, std::optional<std::string>& scheme) {
  const HelpGroup group(command, kDdpGroup);
  command.add_option("--scheme", scheme, kHelp)->type_name(kType);
}

void add_schemes_option(CLI::App& command, std::vector<std::string>& schemes) {
  const HelpGroup group(command, kDdpGroup);
  command.add_option("--scheme", schemes, std::string(kHelp) + "; repeatable: each is a candidate")
      ->type_name(kType)
      ->expected(1)
      ->take_all();
}

Scheme parse_scheme(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  Scheme scheme = named(name);
  if (colon == text.npos) return scheme;
  const std::vector<OptionKey> keys = std::visit([](auto& of) { return keys_of(of); }, scheme);
  if (keys.empty()) fail(fmt::format("{} takes no options here: DDP's have their own", name));
  const std::vector<std::string> given =
      take_keys("--scheme", std::string_view(text).substr(colon + 1), keys, KeyStyle::commas, name);
  const auto is_given = [&](const char* key) {
    return std::ranges::find(given, key) != given.end();
  };
  if (is_given("hierarchy") && is_given("period"))
    fail("local_sgd: hierarchy has periods of its own; leave out period");
  const CpuOffload* offload = offload_of(scheme);
  const Zero* zero = std::get_if<Zero>(&scheme);
  const char* steps_there = zero != nullptr ? "offload_optimizer=cpu" : "cpu_offload=true";
  if (is_given("pcie") && offload == nullptr)
    fail(fmt::format("pcie: nothing stays on the host without {}{}", steps_there,
                     zero != nullptr && zero->stage == 3 ? " or offload_param=cpu" : ""));
  for (const char* key : {"cpu_rate", "fused"})
    if (is_given(key) && (offload == nullptr || !offload->optimizer))
      fail(fmt::format("{}: the optimizer does not run on the host without {}", key, steps_there));
  return scheme;
}

}  // namespace ddpsim
