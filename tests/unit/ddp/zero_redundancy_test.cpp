// DDP with ZeroRedundancyOptimizer, worked out by hand. scheme_step.hpp has the model: five
// parameters of 4 MB. DDP's first bucket is the head's, and the second holds the rest. Each is
// all-reduced in 6 us. Each broadcast takes 4 us.
//
//   us       0       100  120 126      300 306       318     338
//   compute  |forward|backward            |   |optimizer|     |
//   wire             |    |b0|           |b1 |         |5 x 4|
//
// Rank 0 owns embed, layers.1 and head; rank 1 owns layers.0 and layers.2. So rank 0 steps three
// fifths, 12 us of 20.
#include "zero_redundancy.hpp"

#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "schedule_step.hpp"

#include "numbered_model.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

Step run_reducer(const SimulationOptions& all, int ranks = 2) {
  const Job job(layered(), small::node(ranks), all, FreeModel{});
  Step step;
  step.planned = schedule_step(job, buckets_of(job), {}, {});
  for (std::size_t i = 0; i < step.planned.collectives.size(); ++i) {
    ScheduledCollective& scheduled = step.planned.schedule.collectives[i];
    scheduled.transfer = scheduled.kind == CollectiveKind::broadcast ? 4_us : 6_us;
    scheduled.volume = scheduled.transfer;
  }
  const Execution execution = execute(step.planned.schedule, rates_of(job));
  step.times = attribute_step(step.planned, execution, job);
  step.collectives = describe_collectives(step.planned, execution);
  return step;
}

}  // namespace

TEST_CASE("ZeroRedundancyOptimizer: DDP's all-reduces, then a broadcast per parameter, by owner") {
  const Step step = run_reducer(options(ZeroRedundancy{}));
  CHECK(on_the_wire(step, 301_us) ==
        "\nbroadcast embed.weight: 318 to 322"
        "\nbroadcast layers.1.linear.weight: 322 to 326"
        "\nbroadcast head.weight: 326 to 330"
        "\nbroadcast layers.0.linear.weight: 330 to 334"
        "\nbroadcast layers.2.linear.weight: 334 to 338");
  CHECK(parts(step.times) == "forward 0 backward 6 optimizer 20 | optimizer 12 | iteration 338");
  CHECK(step.times.loss[LossCause::exposed_broadcast] == 20_us);
  CHECK(step.times.loss[LossCause::exposed_all_reduce] == 6_us);
  CHECK(step.times.loss[LossCause::sharded_optimizer] == -8_us);
  // DDP itself needs 20 us for the optimizer, and no broadcasts.
  const Step ddp = run_reducer(options(Ddp{}));
  CHECK(parts(ddp.times) == "forward 0 backward 6 optimizer 0 | optimizer 20 | iteration 326");
  CHECK(bytes_of(ddp, CollectiveKind::all_reduce) == bytes_of(step, CollectiveKind::all_reduce));
}

TEST_CASE(
    "ZeroRedundancyOptimizer: with one bucket view per rank there is one broadcast per rank") {
  const Step step = run_reducer(options(ZeroRedundancy{.parameters_as_bucket_view = true}));
  CHECK(bytes_of(step, CollectiveKind::broadcast) ==
        std::vector<std::int64_t>{12'000'000, 8'000'000});
  CHECK(step.times.exposed_in_optimizer == 8_us);
  CHECK(step.times.iteration == 326_us);
}

TEST_CASE(
    "ZeroRedundancyOptimizer: overlapped, each bucket is stepped and broadcast after its "
    "all-reduce") {
  // Rank 0 owns the head's bucket, a fifth of the bytes, and steps it from 300 to 304. Rank 1 steps
  // the other for 16 us from 306 on. Broadcasts follow all all-reduces.
  const ZeroRedundancy overlapped = {.overlap_with_ddp = true};
  const Step step = run_reducer(options(overlapped));
  CHECK(on_the_wire(step, 299_us) ==
        "\nall-reduce bucket 1: 300 to 306"
        "\nbroadcast bucket 0: 306 to 310"
        "\nbroadcast bucket 1: 322 to 326");
  CHECK(step.times.optimizer == 4_us);
  CHECK(step.times.iteration == 326_us);
  CHECK(step.times.loss[LossCause::sharded_optimizer] == -16_us);
  // Everything except the optimizer's own 4 us is waited for.
  CHECK(step.times.exposed_communication == 22_us);
  CHECK(bytes_of(step, CollectiveKind::broadcast) ==
        std::vector<std::int64_t>{4'000'000, 16'000'000});
  // Copies out follow: 10 us for each of the five gradients of 4 MB at 800 GB/s.
  SimulationOptions copies = options(overlapped);
  copies.costs.copy_rate = Bandwidth::gigabytes_per_second(800);
  copies.ddp_to_set().gradient_as_bucket_view = true;
  const Step viewed = run_reducer(copies);
  copies.ddp_to_set().gradient_as_bucket_view = false;
  const Step copied = run_reducer(copies);
  CHECK(copied.times.finalize == 50_us);
  CHECK(copied.times.iteration - viewed.times.iteration == 50_us);
  // A single rank steps everything, and sending takes no time.
  CHECK(run_reducer(options(overlapped), 1).times.optimizer == 20_us);
}

TEST_CASE("ZeroRedundancyOptimizer: overlapped, a rank holds the state of the buckets it steps") {
  SimulationOptions all = options(ZeroRedundancy{});
  all.optimizer.kind = Optimizer::adam;
  const auto state = [&](ZeroRedundancy scheme, int ranks) {
    scheme.ddp = all.ddp();
    all.scheme = scheme;
    return peak_memory(Job(layered(), small::node(ranks), all, FreeModel{})).parts.optimizer;
  };
  // Adam keeps twice the parameters. By owner it is three fifths of 20 MB, by bucket four fifths.
  CHECK(state({}, 2) == Bytes(24'000'000));
  CHECK(state({.overlap_with_ddp = true}, 2) == Bytes(32'000'000));
  CHECK(state({.overlap_with_ddp = true}, 1) == Bytes(40'000'000));
}

TEST_CASE("ZeroRedundancyOptimizer: overlapped, bucket views per rank are refused") {
  const SimulationOptions all =
      options(ZeroRedundancy{.parameters_as_bucket_view = true, .overlap_with_ddp = true});
  const auto problem = cannot_simulate(Job(layered(), small::node(2), all, FreeModel{}));
  REQUIRE(problem);
  CHECK(problem->find("ignores parameters_as_bucket_view") != std::string::npos);
}

TEST_CASE("ZeroRedundancyOptimizer: the largest goes to the rank with least, the first of equals") {
  Workload step;
  for (const std::int64_t elements : {3, 9, 5, 9, 1, 4})
    step.parameters.push_back(parameter("p" + std::to_string(elements), {elements}));
  step.backward = Backward{.duration = 1_us, .ready = {}};
  for (std::size_t p = 0; p < 6; ++p)
    step.backward->ready.push_back({.parameter = p, .at = 1_us, .copied_at = {}});
  // 9 (index 1) and 9 (3) come first, then 5, 4, 3, 1. Rank 2 gets 5 and 4. Then all three hold 9,
  // so 3 goes to rank 0 and 1 to rank 1.
  const auto among = [&](int ranks) {
    return parameters_by_owner(Job(step, small::node(ranks), {}, FreeModel{}), {}, {});
  };
  CHECK(among(3) == std::vector<std::vector<std::size_t>>{{1, 0}, {3, 4}, {2, 5}});
  CHECK(among(8)[7].empty());
}

TEST_CASE("ZeroRedundancyOptimizer: one rank owns all, surplus ranks own nothing") {
  const Step one = run_reducer(options(ZeroRedundancy{}), 1);
  CHECK(one.times.optimizer == 20_us);
  const Step many = run_reducer(options(ZeroRedundancy{.parameters_as_bucket_view = true}), 8);
  CHECK(many.times.optimizer == 4_us);
  CHECK(bytes_of(many, CollectiveKind::broadcast).size() == 5);
}

TEST_CASE("ZeroRedundancyOptimizer: refused with an optimizer that steps in backward") {
  SimulationOptions all = options(ZeroRedundancy{});
  all.ddp_to_set().optimizer_in_backward = true;
  const auto problem = cannot_simulate(Job(layered(), small::node(2), all, FreeModel{}));
  REQUIRE(problem);
  CHECK(problem->find("--apply-optimizer-in-backward") != std::string::npos);
}
