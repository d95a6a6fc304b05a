// Ranks with different options must not start.
#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "fake_world.hpp"
#include "sweep.hpp"

using namespace ddpsim;

TEST_CASE("real sweep: every option that affects ranks changes the digest") {
  const Sweep usual{.workload = testing::small_workload({2}, {0}),
                    .backend = "cpu-gloo",
                    .configurations = {{"one", {}}},
                    .all_reduce_sizes = {},
                    .output = {},
                    .command = {},
                    .digest = {}};
  const auto options = [](Sweep& sweep) -> ReducerOptions& {
    return sweep.configurations[0].options;
  };
  const std::vector<std::function<void(Sweep&)>> changes = {
      [](Sweep&) {},
      [](Sweep& sweep) { sweep.workload.name = "other"; },
      [](Sweep& sweep) { sweep.backend = "c10d-gloo"; },
      [](Sweep& sweep) { sweep.configurations[0].name = "two"; },
      [](Sweep& sweep) {
        sweep.configurations.push_back({"two", {}});
      },
      [](Sweep& sweep) { sweep.all_reduce_sizes = {Bytes(4)}; },
      [](Sweep& sweep) { sweep.warmup = 4; },
      [](Sweep& sweep) { sweep.iterations = 10; },
      [](Sweep& sweep) { sweep.all_reduce_repetitions = 16; },
      [](Sweep& sweep) { sweep.busy_compute = true; },
      [](Sweep& sweep) { sweep.timeout = std::chrono::seconds(7); },
      [&](Sweep& sweep) {
        options(sweep).torch = {1, 13};
      },
      [&](Sweep& sweep) { options(sweep).bucket_cap_mb = 25; },
      [&](Sweep& sweep) { options(sweep).first_bucket_mb = 25; },
      [&](Sweep& sweep) {
        options(sweep).bucket_cap_mb_list = {1, 25};
      },
      [&](Sweep& sweep) { options(sweep).find_unused_parameters = true; },
      [&](Sweep& sweep) { options(sweep).static_graph = true; },
      [&](Sweep& sweep) { options(sweep).gradient_as_bucket_view = true; },
      [&](Sweep& sweep) { options(sweep).broadcast_buffers = false; },
      [&](Sweep& sweep) { options(sweep).process_groups = 2; },
      [&](Sweep& sweep) { options(sweep).accumulate = 2; },
      [&](Sweep& sweep) { options(sweep).comm_hook = CommHook::fp16_compress; },
  };
  std::set<std::string> digests;
  for (const auto& change : changes) {
    Sweep sweep = usual;
    change(sweep);
    digests.insert(digest_of(sweep));
  }
  CHECK(digests.size() == changes.size());
}
