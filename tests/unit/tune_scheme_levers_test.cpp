// Levers of schemes without DDP's buckets.
#include "scheme_levers.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ddpsim/sim/advise.hpp"
#include "mentions.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;

namespace {

Job scheme_job(Scheme scheme, const Cluster& cluster = small::node(2)) {
  return Job(schemes::layered(), cluster, schemes::options(std::move(scheme)), FreeModel{});
}

std::vector<std::string> names_of(const Job& job) {
  std::vector<std::string> names;
  for (const Lever& lever : scheme_levers(job)) names.push_back(lever.name);
  return names;
}

}  // namespace

TEST_CASE("levers of schemes: what is in force is none, and each changes what it is called by") {
  for (const Scheme& scheme : {Scheme(Fsdp1{}), Scheme(Fsdp2{}), Scheme(Zero{.stage = 2}),
                               Scheme(Zero{.stage = 3}), Scheme(MegatronOptimizer{})}) {
    CAPTURE(name_of(scheme));
    CHECK(has_levers(scheme));
    const Job job = scheme_job(scheme, schemes::two_by_two());
    CHECK(!scheme_levers(job).empty());
    for (const Lever& lever : scheme_levers(job)) {
      CAPTURE(lever.name);
      const auto after = options_of(lever.change(job).options().scheme);
      const auto before = options_of(job.options().scheme);
      CHECK(after != before);
      const std::string key = lever.name.substr(0, lever.name.find('='));
      const std::string value = lever.name.substr(key.size() + 1);
      const auto set = std::ranges::find(after, key, &std::pair<std::string, std::string>::first);
      REQUIRE(set != after.end());
      CHECK(value.starts_with(set->second));
    }
  }
  CHECK(!has_levers(NaiveAllReduce{}));
  CHECK(scheme_levers(scheme_job(NaiveAllReduce{})).empty());
}

TEST_CASE("levers of schemes: groups of a node are levers of several nodes alone") {
  CHECK(!has(names_of(scheme_job(Fsdp2{})), "group=2"));
  CHECK(has(names_of(scheme_job(Fsdp2{}, schemes::two_by_two())), "group=2"));
  CHECK(has(names_of(scheme_job(Fsdp1{}, schemes::two_by_two())), "strategy=hybrid_shard"));
  CHECK(!has(names_of(scheme_job(Fsdp1{})), "strategy=hybrid_shard"));
}

TEST_CASE("levers of schemes: the line to paste is the library's own call") {
  const auto line = [](const Job& job, const std::vector<std::string>& names) {
    std::vector<Lever> levers;
    for (const Lever& lever : scheme_levers(job))
      if (has(names, lever.name)) levers.push_back(lever);
    return python_of(levers);
  };
  CHECK(line(scheme_job(Fsdp2{}), {"reshard_after_forward=false"}) ==
        "fully_shard(module, reshard_after_forward=False)");
  CHECK(line(scheme_job(Fsdp1{}), {"strategy=shard_grad_op", "forward_prefetch=true"}) ==
        "FullyShardedDataParallel(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, "
        "forward_prefetch=True)");
  CHECK(line(scheme_job(Zero{.stage = 2}), {"overlap_comm=true", "reduce_bucket_size=50000000"}) ==
        "{\"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true, \"reduce_bucket_size\": "
        "50000000}}");
  CHECK(line(scheme_job(MegatronOptimizer{}), {"overlap_grad_reduce=true"}) ==
        "--overlap-grad-reduce");
}
