// replicate's schedule, worked out by hand (scheme_step.hpp has the numbers).
//
//   us            0        100   120       160       240       290   300    312    332
//   compute       |forward |head |layers.2 |layers.1 |layers.0 |embed|      |optimizer|
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

Step run_between(const Scheme& scheme) {
  return run(scheme, by_the_table, 1, two_by_two());
}

}  // namespace

TEST_CASE("replicate: each module all-reduces its gradients behind its backward, the root's last") {
  // The root's waits for that of layer 0, which ends at 306.
  const Step step = run_between(Replicate{});
  CHECK(on_the_wire(step) ==
        "\nall-reduce layers.2: 160 to 196"
        "\nall-reduce layers.1: 240 to 266"
        "\nall-reduce layers.0: 290 to 306"
        "\nall-reduce root: 306 to 312");
  CHECK(differences(
            step,
            {.exposed_forward = 0, .exposed_backward = 12, .optimizer = 20, .iteration = 332}) ==
        "");
}

TEST_CASE("replicate: a group of one rank under fully_shard does the same") {
  const Fsdp2 alone{.reshard_after_forward = false, .group = 1};
  CHECK(on_the_wire(run_between(alone)) == on_the_wire(run_between(Replicate{})));
}

TEST_CASE("replicate: micro-batches but the last all-reduce nothing, unless no_sync is false") {
  const auto collectives = [](const Replicate& scheme) {
    return run(scheme, by_the_table, 2, two_by_two()).planned.collectives.size();
  };
  CHECK(collectives({}) == 4);
  CHECK(collectives({.no_sync = false}) == 8);
}

TEST_CASE("replicate: gradients travel in reduce_dtype, or else in param_dtype") {
  const auto bytes = [](const Replicate& scheme) {
    std::int64_t sum = 0;
    for (const StepCollective& one : run_between(scheme).planned.collectives)
      sum += one.scheduled.size.count();
    return sum;
  };
  CHECK(bytes({}) == 5 * 4'000'000);
  CHECK(bytes({.param_dtype = Dtype::bfloat16}) == 5 * 2'000'000);
  CHECK(bytes({.param_dtype = Dtype::bfloat16, .reduce_dtype = Dtype::float32}) == 5 * 4'000'000);
}
