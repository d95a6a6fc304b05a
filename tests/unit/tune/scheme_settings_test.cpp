// Settings of schemes without DDP's buckets.
#include "scheme_settings.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ddpsim/sim/tune/advise.hpp"
#include "mentions.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;

namespace {

Job scheme_job(Scheme scheme, const Cluster& cluster = small::node(2)) {
  return Job(schemes::layered(), cluster, schemes::options(std::move(scheme)), FreeModel{});
}

std::vector<std::string> names_of(const Job& job) {
  std::vector<std::string> names;
  for (const Setting& setting : scheme_settings(job)) names.push_back(setting.name);
  return names;
}

}  // namespace

TEST_CASE("scheme settings: current values are no settings, and each changes what it names") {
  for (const Scheme& scheme : {Scheme(Fsdp1{}), Scheme(Fsdp2{}), Scheme(Zero{.stage = 2}),
                               Scheme(Zero{.stage = 3}), Scheme(MegatronOptimizer{})}) {
    CAPTURE(name_of(scheme));
    CHECK(facts_of(scheme).has_settings);
    const Job job = scheme_job(scheme, schemes::two_by_two());
    CHECK(!scheme_settings(job).empty());
    for (const Setting& setting : scheme_settings(job)) {
      CAPTURE(setting.name);
      const auto after = options_of(setting.change(job).options().scheme);
      const auto before = options_of(job.options().scheme);
      CHECK(after != before);
      const std::string key = setting.name.substr(0, setting.name.find('='));
      const std::string value = setting.name.substr(key.size() + 1);
      const auto set = std::ranges::find(after, key, &std::pair<std::string, std::string>::first);
      REQUIRE(set != after.end());
      CHECK(value.starts_with(set->second));
    }
  }
  CHECK_FALSE(facts_of(NaiveAllReduce{}).has_settings);
  CHECK(scheme_settings(scheme_job(NaiveAllReduce{})).empty());
}

TEST_CASE("scheme settings: all settings of a library, in order, with their notes") {
  const auto listed = [](const Scheme& scheme) {
    std::string text;
    for (const Setting& setting : scheme_settings(scheme_job(scheme, schemes::two_by_two())))
      text += fmt::format("\n{}{}{}", setting.name,
                          setting.argument.empty() ? "" : " | " + setting.argument,
                          setting.note.empty() ? "" : " | " + setting.note);
    return text;
  };
  CHECK(listed(Fsdp1{}) == R"(
strategy=shard_grad_op | sharding_strategy=ShardingStrategy.SHARD_GRAD_OP
strategy=hybrid_shard | sharding_strategy=ShardingStrategy.HYBRID_SHARD
strategy=hybrid_shard_zero2 | sharding_strategy=ShardingStrategy._HYBRID_SHARD_ZERO2
wrap=none | auto_wrap_policy=None
wrap=size,min_num_params=1000000 | auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=1000000)
wrap=size,min_num_params=10000000 | auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=10000000)
wrap=size,min_num_params=100000000 | auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=100000000)
backward_prefetch=post | backward_prefetch=BackwardPrefetch.BACKWARD_POST
backward_prefetch=none | backward_prefetch=None
forward_prefetch=true | forward_prefetch=True | only where modules run in the same order in every step
limit_all_gathers=false | limit_all_gathers=False | more of the model may be gathered at once than is counted)");
  CHECK(listed(Fsdp2{}) == R"(
reshard_after_forward=false | reshard_after_forward=False
reshard_after_forward=2 | reshard_after_forward=2
group=2 | mesh=init_device_mesh("cuda", (2, 2))
wrap=none
wrap=size,min_num_params=1000000
wrap=size,min_num_params=10000000
wrap=size,min_num_params=100000000)");
  CHECK(listed(Zero{.stage = 2, .reduce_bucket_size = 7}) == R"(
overlap_comm=true | "overlap_comm": true
reduce_bucket_size=5000000 | "reduce_bucket_size": 5000000
reduce_bucket_size=50000000 | "reduce_bucket_size": 50000000
reduce_bucket_size=200000000 | "reduce_bucket_size": 200000000
reduce_bucket_size=500000000 | "reduce_bucket_size": 500000000)");
  CHECK(listed(Zero{.stage = 3,
                    .reduce_bucket_size = 50'000'000,
                    .stage3_prefetch_bucket_size = 7,
                    .stage3_param_persistence_threshold = 7,
                    .stage3_max_live_parameters = 7,
                    .stage3_max_reuse_distance = 7}) == R"(
overlap_comm=false | "overlap_comm": false
reduce_bucket_size=5000000 | "reduce_bucket_size": 5000000
reduce_bucket_size=200000000 | "reduce_bucket_size": 200000000
reduce_bucket_size=500000000 | "reduce_bucket_size": 500000000
stage3_prefetch_bucket_size=0 | "stage3_prefetch_bucket_size": 0
stage3_prefetch_bucket_size=5000000 | "stage3_prefetch_bucket_size": 5000000
stage3_prefetch_bucket_size=50000000 | "stage3_prefetch_bucket_size": 50000000
stage3_prefetch_bucket_size=500000000 | "stage3_prefetch_bucket_size": 500000000
stage3_param_persistence_threshold=0 | "stage3_param_persistence_threshold": 0
stage3_param_persistence_threshold=10000 | "stage3_param_persistence_threshold": 10000
stage3_param_persistence_threshold=100000 | "stage3_param_persistence_threshold": 100000
stage3_param_persistence_threshold=1000000 | "stage3_param_persistence_threshold": 1000000
stage3_max_live_parameters=100000000 | "stage3_max_live_parameters": 100000000
stage3_max_live_parameters=1000000000 | "stage3_max_live_parameters": 1000000000
stage3_max_reuse_distance=0 | "stage3_max_reuse_distance": 0
stage3_max_reuse_distance=1000000000 | "stage3_max_reuse_distance": 1000000000
zero_hpz_partition_size=2 | "zero_hpz_partition_size": 2 | each node keeps a copy of all parameters, which is not counted as memory)");
  CHECK(listed(MegatronOptimizer{}) == R"(
overlap_grad_reduce=true | --overlap-grad-reduce
overlap_param_gather=true | --overlap-grad-reduce --overlap-param-gather)");
  CHECK(listed(MegatronOptimizer{.overlap_grad_reduce = true, .bucket_size = 40'000'000}) == R"(
overlap_param_gather=true | --overlap-grad-reduce --overlap-param-gather
bucket_size=10000000 | --ddp-bucket-size 10000000
bucket_size=100000000 | --ddp-bucket-size 100000000
bucket_size=400000000 | --ddp-bucket-size 400000000)");
}

TEST_CASE("scheme settings: a choice that a setting undid is a setting again") {
  for (const Scheme& scheme : {Scheme(Fsdp1{}), Scheme(Fsdp2{}), Scheme(Fsdp2{.group = 2})}) {
    const Job job = scheme_job(scheme, schemes::two_by_two());
    for (const Setting& there : scheme_settings(job)) {
      CAPTURE(there.name);
      const Job changed = there.change(job);
      std::vector<std::string> names;
      for (const Setting& setting : scheme_settings(changed)) {
        names.push_back(setting.name);
      }
      CHECK(!has(names, there.name));
      const std::string key = there.name.substr(0, there.name.find('=') + 1);
      if (key != "group=")
        CHECK(std::ranges::any_of(names,
                                  [&](const std::string& name) { return name.starts_with(key); }));
    }
  }
}

TEST_CASE("scheme settings: groups of a node are settings only with several nodes") {
  CHECK(!has(names_of(scheme_job(Fsdp2{})), "group=2"));
  CHECK(has(names_of(scheme_job(Fsdp2{}, schemes::two_by_two())), "group=2"));
  CHECK(has(names_of(scheme_job(Fsdp1{}, schemes::two_by_two())), "strategy=hybrid_shard"));
  CHECK(!has(names_of(scheme_job(Fsdp1{})), "strategy=hybrid_shard"));
}

TEST_CASE("scheme settings: the line to paste is the library's own call") {
  const auto line = [](const Job& job, const std::vector<std::string>& names) {
    std::vector<Setting> settings;
    for (const Setting& setting : scheme_settings(job))
      if (has(names, setting.name)) settings.push_back(setting);
    return python_of(settings);
  };
  const std::string blocks =
      "[block for blocks in model.modules() if isinstance(blocks, torch.nn.ModuleList) for block "
      "in "
      "blocks]";
  const std::string fsdp2 = "from torch.distributed.fsdp import fully_shard; ";
  CHECK(line(scheme_job(Fsdp2{}), {"reshard_after_forward=false"}) ==
        fsdp2 + "[fully_shard(module, reshard_after_forward=False) for module in " + blocks +
            "]; fully_shard(model)");
  CHECK(line(scheme_job(Fsdp2{}), {"reshard_after_forward=false", "wrap=none"}) ==
        fsdp2 + "fully_shard(model, reshard_after_forward=False)");
  // A script that passes a mesh continues to do so.
  CHECK(
      line(scheme_job(Fsdp2{.group = 2}, schemes::two_by_two()), {"reshard_after_forward=false"}) ==
      fsdp2 + "[fully_shard(module, reshard_after_forward=False, mesh=mesh) for module in " +
          blocks + "]; fully_shard(model, mesh=mesh)");
  CHECK(line(scheme_job(Fsdp2{}, schemes::two_by_two()), {"group=2"}) ==
        fsdp2 +
            "from torch.distributed.device_mesh import init_device_mesh; [fully_shard(module, "
            "mesh=init_device_mesh(\"cuda\", (2, 2))) for module in " +
            blocks + "]; fully_shard(model, mesh=init_device_mesh(\"cuda\", (2, 2)))");
  CHECK(line(scheme_job(Fsdp1{}), {"strategy=shard_grad_op", "forward_prefetch=true"}) ==
        "from torch.distributed.fsdp import FullyShardedDataParallel; from torch.distributed.fsdp "
        "import ShardingStrategy; FullyShardedDataParallel(model, "
        "sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, forward_prefetch=True)");
  CHECK(line(scheme_job(Zero{.stage = 2}), {"overlap_comm=true", "reduce_bucket_size=50000000"}) ==
        "{\"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true, \"reduce_bucket_size\": "
        "50000000}}");
  CHECK(line(scheme_job(MegatronOptimizer{}), {"overlap_grad_reduce=true"}) ==
        "--overlap-grad-reduce");
}
