// torch.nn.DataParallel by hand (scheme_step.hpp has the numbers). Parameters have 4 MB each, so
// two fit into 10 MiB.
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

/// 8 us to send from GPU 0, 12 us to send to it, 3 us to scatter or gather.
Duration sent(CollectiveKind kind, const std::string& /*unit*/, StepPhase /*phase*/) {
  if (kind == CollectiveKind::broadcast) return 8_us;
  return kind == CollectiveKind::reduce ? 12_us : 3_us;
}

Bytes carried(const Step& step, CollectiveKind kind) {
  Bytes sum;
  for (const CollectiveResult& one : step.collectives)
    if (one.kind == kind) sum += one.bytes;
  return sum;
}

}  // namespace

TEST_CASE(
    "data_parallel: broadcasts before forward, reduces after backward, nothing overlaps them") {
  const Step step = run(DataParallel{}, sent);
  CHECK(on_the_wire(step) ==
        "\nbroadcast parameters 0: 0 to 8"
        "\nbroadcast parameters 1: 8 to 16"
        "\nbroadcast parameters 2: 16 to 24"
        "\nreduce gradients 0: 324 to 336"
        "\nreduce gradients 1: 336 to 348"
        "\nreduce gradients 2: 348 to 360");
  CHECK(step.collectives.front().bytes == 8'000'000_B);
  CHECK(step.collectives.back().bytes == 4'000'000_B);
  CHECK(differences(
            step,
            {.exposed_forward = 24, .exposed_backward = 36, .optimizer = 20, .iteration = 380}) ==
        "");
}

TEST_CASE(
    "data_parallel: all parameters are sent out and all gradients come in, for any number of "
    "GPUs") {
  for (const int gpus : {2, 3, 8}) {
    const Step step = run(DataParallel{}, sent, 1, small::node(gpus));
    CHECK(carried(step, CollectiveKind::broadcast) == 20'000'000_B);
    CHECK(carried(step, CollectiveKind::reduce) == 20'000'000_B);
    CHECK(carried(step, CollectiveKind::send_recv) == Bytes());
  }
}

TEST_CASE("data_parallel: on one GPU it only calls its module") {
  const Step step = run(DataParallel{}, sent, 1, small::node(1));
  CHECK(step.collectives.empty());
  CHECK(step.times.iteration == 320_us);
}

TEST_CASE("data_parallel: each micro-batch replicates and reduces") {
  const Step step = run(DataParallel{}, sent, 3);
  CHECK(carried(step, CollectiveKind::broadcast) == 60'000'000_B);
  CHECK(carried(step, CollectiveKind::reduce) == 60'000'000_B);
  CHECK(differences(
            step,
            {.exposed_forward = 72, .exposed_backward = 108, .optimizer = 20, .iteration = 1100},
            3) == "");
}

TEST_CASE("data_parallel: inputs and outputs pass GPU 0, equally much for each other GPU") {
  const Step step = run(DataParallel{.inputs = 600_B, .outputs = 40_B}, sent, 1, small::node(4));
  // Inputs and outputs are sent in forward, the outputs' gradients at the start of backward.
  CHECK(carried(step, CollectiveKind::send_recv) == 3 * (600_B + 2 * 40_B));
  CHECK(step.times.exposed_in_forward == 24_us + 6_us);
  CHECK(step.times.exposed_backward() == 36_us + 3_us);
}

TEST_CASE(
    "data_parallel: a tensor larger than 10 MiB is sent alone, types separately, buffers too") {
  Workload step = layered();
  step.parameters[1].shape = {{4000, 1000}};
  step.parameters[4].dtype = Dtype::float16;
  step.buffers.push_back({.dtype = Dtype::float32, .bytes = 400_B, .tensors = 3});
  const Step sent_alone =
      run(Job(step, small::node(2), options(DataParallel{}), FreeModel{}), sent);
  std::vector<std::int64_t> broadcasts;
  for (const CollectiveResult& one : sent_alone.collectives)
    if (one.kind == CollectiveKind::broadcast) broadcasts.push_back(one.bytes.count());
  std::sort(broadcasts.begin(), broadcasts.end());
  CHECK(broadcasts == std::vector<std::int64_t>{400, 2'000'000, 4'000'000, 8'000'000, 16'000'000});
}

TEST_CASE("data_parallel: the host launches the forward of all GPUs, one after the other") {
  Workload step = layered();
  step.launches = Launches{.forward = 100, .backward = {0, 0, 0, 0, 0}, .optimizer = 0};
  SimulationOptions all = options(DataParallel{});
  all.costs.host_kernel = 10_us;  // so that the host sets the pace
  const auto iteration = [&](int gpus) {
    return simulate(Job(step, small::node(gpus), all, FreeModel{})).step.times.iteration;
  };
  CHECK(iteration(4) - iteration(2) == 2 * 100 * 10_us);
  CHECK(iteration(8) - iteration(4) == 4 * 100 * 10_us);
}

TEST_CASE("data_parallel: faster links make no step longer, and infinite ones leave only compute") {
  Duration before = Duration::max();
  for (const double rate : {1.0, 10.0, 100.0, 1000.0}) {
    const Job job(layered(), small::node(4, rate), options(DataParallel{}), AnalyticModel{});
    const Duration iteration = simulate_times(job).iteration;
    CHECK(iteration <= before);
    before = iteration;
  }
  const Job free(layered(), small::node(4), options(DataParallel{}), FreeModel{});
  CHECK(simulate_times(free).iteration == 320_us);
}

TEST_CASE("data_parallel: GPU 0 holds its replica's gradients and the reduced ones") {
  const Job two(layered(), small::node(2), options(DataParallel{}), FreeModel{});
  const Job one(layered(), small::node(1), options(DataParallel{}), FreeModel{});
  CHECK(peak_memory(two).parts.buckets == 20'000'000_B);
  CHECK(peak_memory(one).parts.buckets == Bytes());
}

TEST_CASE("data_parallel: several nodes and gloo are refused") {
  Cluster two_nodes = small::node(2);
  two_nodes.nodes = 2;
  const auto why = cannot_simulate(Job(layered(), two_nodes, options(DataParallel{}), FreeModel{}));
  REQUIRE(why);
  CHECK(
      *why ==
      "--scheme data_parallel: one process drives the GPUs of one node, but node has 2 nodes. Take "
      "one of them, or use --scheme ddp");
  CHECK(cannot_simulate(Job(layered(), small::node(2), options(DataParallel{}), GlooModel{})));
  CHECK(!cannot_simulate(Job(layered(), small::node(2), options(DataParallel{}), FreeModel{})));
}
