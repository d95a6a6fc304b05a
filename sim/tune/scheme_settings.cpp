#include "scheme_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ddp_settings.hpp"

namespace ddpsim {
namespace {

template <typename Of, typename Set>
Change of_scheme(Set set) {
  return of_options([set](SimulationOptions& options) { set(std::get<Of>(options.scheme)); });
}

std::string python(bool value) {
  return value ? "True" : "False";
}

/// How Python calls the library.
struct Call {
  std::string text;  ///< "{}" stands for its arguments
  std::vector<std::string> imports = {};
};

/// Settings of one library, in the order in which they are listed.
template <typename Of>
class Settings {
 public:
  Settings(const Of& current, Call call) : current_(current), call_(std::move(call)) {}

  /// `name` is spelled as in --scheme, `argument` as in the library. A value that is current
  /// already is no setting.
  template <typename Set>
  void add(const std::string& name, const std::string& argument, Set set,
           const std::string& note = "", const std::vector<std::string>& imports = {}) {
    Call call = call_;
    call.imports.insert(call.imports.end(), imports.begin(), imports.end());
    add_call(name, argument, call, std::move(set), note);
  }
  template <typename Set>
  void add_call(const std::string& name, const std::string& argument, const Call& call, Set set,
                const std::string& note = "") {
    Of changed = current_;
    set(changed);
    if (changed == current_) return;
    settings_.push_back({.name = name,
                         .change = of_scheme<Of>(set),
                         .argument = argument,
                         .note = note,
                         .call = call.text,
                         .imports = call.imports});
  }
  void add_number(const std::string& key, const std::string& spelled, std::int64_t Of::*member,
                  std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values)
      add(fmt::format("{}={}", key, value), fmt::format("{}{}", spelled, value),
          [member, value](Of& of) { of.*member = value; });
  }
  std::vector<Setting> take() { return std::move(settings_); }

 private:
  const Of& current_;
  Call call_;
  std::vector<Setting> settings_;
};

/// The elements of the outermost lists of modules, which are a model's layers.
constexpr const char* kBlocks =
    "block for blocks in model.modules() if isinstance(blocks, torch.nn.ModuleList) for block in "
    "blocks";

/// Other wrap policies than the current one; `add(name, policy)` makes each a setting.
template <typename Add>
void add_wraps(const Add& add) {
  using By = WrapPolicy::By;
  add("wrap=blocks", WrapPolicy{.by = By::blocks, .modules = {}});
  add("wrap=none", WrapPolicy{.by = By::none, .modules = {}});
  for (const std::int64_t least : {1'000'000, 10'000'000, 100'000'000})
    add(fmt::format("wrap=size,min_num_params={}", least),
        WrapPolicy{.by = By::size, .min_num_params = least, .modules = {}});
}

constexpr const char* kFsdp1 = "from torch.distributed.fsdp import FullyShardedDataParallel";
constexpr const char* kSizePolicy =
    "from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy";

std::string size_policy(const WrapPolicy& wrap) {
  return fmt::format("functools.partial(size_based_auto_wrap_policy, min_num_params={})",
                     wrap.min_num_params);
}

void add_wraps(Settings<Fsdp1>& settings) {
  add_wraps([&](const std::string& name, const WrapPolicy& wrap) {
    std::string policy = "None";
    std::vector<std::string> imports;
    if (wrap.by == WrapPolicy::By::size) {
      policy = size_policy(wrap);
      imports = {"import functools", kSizePolicy};
    } else if (wrap.by == WrapPolicy::By::blocks) {
      policy = fmt::format(
          "functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{type(block) for "
          "{}}})",
          std::string(kBlocks).substr(std::string_view("block for ").size()));
      imports = {"import functools",
                 "from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy"};
    }
    settings.add(
        name, "auto_wrap_policy=" + policy, [wrap](Fsdp1& of) { of.wrap = wrap; }, "", imports);
  });
}

/// Calls the function of `module` on each unit, then on the root. `meshed`: the script passes a mesh,
/// and the line uses its name.
Call on_each(const WrapPolicy& wrap, const std::string& function, const std::string& module,
             bool meshed) {
  using By = WrapPolicy::By;
  Call call{.imports = {fmt::format("from torch.distributed.{} import {}", module, function)}};
  const std::string own = meshed ? kOwnMesh : "";
  const std::string root = fmt::format("{}(model{{mesh}}{})", function, own);
  const auto each = [&](const std::string& units) {
    call.text =
        fmt::format("[{}(module, {{}}{}) for module in [{}]]; {}", function, own, units, root);
  };
  switch (wrap.by) {
    case By::none:
      call.text = fmt::format("{}(model, {{}}{})", function, own);
      break;
    case By::blocks:
      each(kBlocks);
      break;
    case By::leaves:
      each(
          "leaf for leaf in reversed(list(model.modules())) if "
          "list(leaf.parameters(recurse=False))");
      break;
    case By::size:
      call.text = fmt::format(
          "_recursive_wrap(model, {}, wrapper_cls={}, ignored_modules=set(), "
          "ignored_params=set(), only_wrap_children=True, {{}}{}); {}",
          size_policy(wrap), function, own, root);
      call.imports.emplace_back("import functools");
      call.imports.emplace_back(kSizePolicy);
      call.imports.emplace_back("from torch.distributed.fsdp.wrap import _recursive_wrap");
      break;
    case By::modules:
      each(fmt::format(
          "module for name, module in reversed(list(model.named_modules())) if "
          "any(fnmatch.fnmatchcase(name, path) and name.count(\".\") == path.count(\".\") "
          "for path in [\"{}\"])",
          fmt::join(wrap.modules, "\", \"")));
      call.imports.emplace_back("import fnmatch");
      break;
  }
  return call;
}

/// The root keeps its parameters gathered for backward, whatever the units do.
Call fully_shard(const WrapPolicy& wrap, TorchVersion torch, bool meshed) {
  constexpr TorchVersion kPublic{2, 6};
  return on_each(wrap, "fully_shard", torch >= kPublic ? "fsdp" : "_composable.fsdp", meshed);
}

Call replicate(const WrapPolicy& wrap) {
  return on_each(wrap, "replicate", "_composable.replicate_with_fsdp", false);
}

int node_of(const Job& job) {
  return job.cluster().nodes > 1 && job.cluster().gpus_per_node > 1 ? job.cluster().gpus_per_node
                                                                    : 0;
}

struct OfScheme {
  const Job& job;

  std::vector<Setting> operator()(const Fsdp1& current) const {
    Settings<Fsdp1> settings(current,
                             {.text = "FullyShardedDataParallel(model, {})", .imports = {kFsdp1}});
    constexpr std::array kStrategies = {
        std::pair(ShardingStrategy::full_shard, "FULL_SHARD"),
        std::pair(ShardingStrategy::shard_grad_op, "SHARD_GRAD_OP"),
        std::pair(ShardingStrategy::hybrid_shard, "HYBRID_SHARD"),
        std::pair(ShardingStrategy::hybrid_shard_zero2, "_HYBRID_SHARD_ZERO2")};
    for (const auto& [strategy, word] : kStrategies) {
      if (is_hybrid(strategy) && node_of(job) == 0) continue;
      settings.add(fmt::format("strategy={}", name_of(strategy)),
                   fmt::format("sharding_strategy=ShardingStrategy.{}", word),
                   [strategy = strategy](Fsdp1& of) {
                     of.strategy = strategy;
                     if (!is_hybrid(strategy)) of.group.reset();
                   },
                   "", {"from torch.distributed.fsdp import ShardingStrategy"});
    }
    add_wraps(settings);
    for (const auto& [prefetch, word] :
         {std::pair(BackwardPrefetch::pre, "BackwardPrefetch.BACKWARD_PRE"),
          std::pair(BackwardPrefetch::post, "BackwardPrefetch.BACKWARD_POST"),
          std::pair(BackwardPrefetch::none, "None")})
      settings.add(fmt::format("backward_prefetch={}", name_of(prefetch)),
                   fmt::format("backward_prefetch={}", word),
                   [prefetch = prefetch](Fsdp1& of) { of.backward_prefetch = prefetch; }, "",
                   {"from torch.distributed.fsdp import BackwardPrefetch"});
    for (const bool value : {true, false}) {
      settings.add(
          fmt::format("forward_prefetch={}", value),
          fmt::format("forward_prefetch={}", python(value)),
          [value](Fsdp1& of) { of.forward_prefetch = value; },
          value ? "only where modules run in the same order in every step" : "");
      settings.add(
          fmt::format("limit_all_gathers={}", value),
          fmt::format("limit_all_gathers={}", python(value)),
          [value](Fsdp1& of) { of.limit_all_gathers = value; },
          value ? "" : "more of the model may be gathered at once than is counted");
    }
    return settings.take();
  }

  std::vector<Setting> operator()(const Fsdp2& current) const {
    const TorchVersion torch = job.options().torch;
    Settings<Fsdp2> settings(current, fully_shard(current.wrap, torch, current.group.has_value()));
    for (const bool value : {true, false})
      settings.add(fmt::format("reshard_after_forward={}", value),
                   fmt::format("reshard_after_forward={}", python(value)), [value](Fsdp2& of) {
                     of.reshard_after_forward = value;
                     of.reshard_to.reset();
                   });
    if (const int node = node_of(job); node > 0) {
      if (!current.group)
        settings.add(fmt::format("reshard_after_forward={}", node),
                     fmt::format("reshard_after_forward={}", node),
                     [node](Fsdp2& of) { of.reshard_to = node; });
      settings.add(
          fmt::format("group={}", node),
          fmt::format("mesh=init_device_mesh(\"cuda\", ({}, {}))", job.cluster().nodes, node),
          [node](Fsdp2& of) {
            of.group = node;
            of.reshard_to.reset();
          },
          "", {"from torch.distributed.device_mesh import init_device_mesh"});
    }
    add_wraps([&](const std::string& name, const WrapPolicy& wrap) {
      settings.add_call(name, "", fully_shard(wrap, torch, current.group.has_value()),
                        [wrap](Fsdp2& of) { of.wrap = wrap; });
    });
    return settings.take();
  }

  std::vector<Setting> operator()(const Replicate& current) const {
    Settings<Replicate> settings(current, replicate(current.wrap));
    add_wraps([&](const std::string& name, const WrapPolicy& wrap) {
      settings.add_call(name, "", replicate(wrap), [wrap](Replicate& of) { of.wrap = wrap; });
    });
    return settings.take();
  }

  std::vector<Setting> operator()(const Zero& current) const {
    Settings<Zero> settings(current,
                            {.text = fmt::format("{{\"zero_optimization\": {{\"stage\": {}, {}}}}}",
                                                 current.stage, "{}")});
    const bool overlaps = current.overlap_comm.value_or(current.stage == 3);
    settings.add(fmt::format("overlap_comm={}", !overlaps),
                 fmt::format("\"overlap_comm\": {}", !overlaps),
                 [overlaps](Zero& of) { of.overlap_comm = !overlaps; });
    const auto number = [&](const char* key, std::int64_t Zero::*member,
                            std::initializer_list<std::int64_t> values) {
      settings.add_number(key, fmt::format("\"{}\": ", key), member, values);
    };
    number("reduce_bucket_size", &Zero::reduce_bucket_size,
           {5'000'000, 50'000'000, 200'000'000, 500'000'000});
    if (current.stage < 3) return settings.take();
    number("stage3_prefetch_bucket_size", &Zero::stage3_prefetch_bucket_size,
           {0, 5'000'000, 50'000'000, 500'000'000});
    number("stage3_param_persistence_threshold", &Zero::stage3_param_persistence_threshold,
           {0, 10'000, 100'000, 1'000'000});
    number("stage3_max_live_parameters", &Zero::stage3_max_live_parameters,
           {100'000'000, 1'000'000'000});
    number("stage3_max_reuse_distance", &Zero::stage3_max_reuse_distance, {0, 1'000'000'000});
    if (const int node = node_of(job); node > 0)
      settings.add(
          fmt::format("zero_hpz_partition_size={}", node),
          fmt::format("\"zero_hpz_partition_size\": {}", node),
          [node](Zero& of) { of.zero_hpz_partition_size = node; },
          "each node keeps a copy of all parameters, which is not counted as memory");
    return settings.take();
  }

  std::vector<Setting> operator()(const MegatronOptimizer& current) const {
    Settings<MegatronOptimizer> settings(current, {.text = "{}"});
    if (!current.overlap_grad_reduce)
      settings.add("overlap_grad_reduce=true", "--overlap-grad-reduce",
                   [](MegatronOptimizer& of) { of.overlap_grad_reduce = true; });
    if (!current.overlap_param_gather)
      settings.add("overlap_param_gather=true", "--overlap-grad-reduce --overlap-param-gather",
                   [](MegatronOptimizer& of) {
                     of.overlap_grad_reduce = true;  // required by it
                     of.overlap_param_gather = true;
                   });
    if (current.overlap_grad_reduce)
      for (const std::int64_t size : {10'000'000, 40'000'000, 100'000'000, 400'000'000})
        settings.add(fmt::format("bucket_size={}", size), fmt::format("--ddp-bucket-size {}", size),
                     [size](MegatronOptimizer& of) { of.bucket_size = size; });
    return settings.take();
  }

  /// Settings of DDP's reducer; the schemes without a reducer have none.
  template <typename Other>
  std::vector<Setting> operator()(const Other& /*current*/) const {
    return uses_reducer(job.options().scheme) ? ddp_settings(job) : std::vector<Setting>();
  }
};

}  // namespace

std::vector<Setting> scheme_settings(const Job& job) {
  return std::visit(OfScheme{job}, job.options().scheme);
}

}  // namespace ddpsim
