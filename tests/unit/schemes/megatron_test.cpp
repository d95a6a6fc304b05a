// Megatron-Core's distributed optimizer, worked out by hand (scheme_step.hpp has the model).
// Buckets hold two parameters, from the last one defined: head and layers.2, layers.1 and layers.0,
// embed. Reduce-scatters take 30, 40 and 6 us by bucket, all-gathers 50, 50 and 20, and the norm's
// all-reduce 2.
#include "numbered_model.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

Duration megatron_times(CollectiveKind kind, const std::string& unit, StepPhase /*phase*/) {
  if (unit == "gradient norm") return 2_us;
  if (kind == kGathers) return unit == "bucket 2" ? 20_us : 50_us;
  return unit == "bucket 0" ? 30_us : unit == "bucket 1" ? 40_us : 6_us;
}

/// The embedding fills a multiple of 128 elements, so buckets are not padded and a rank steps
/// exactly half.
Workload even() {
  Workload step = layered();
  step.parameters.front().shape = {{1024, 1000}};
  return step;
}

Step run_megatron(const MegatronOptimizer& scheme, int accumulate = 1,
                  const TimeOf& time = megatron_times, int ranks = 2) {
  SimulationOptions all = options(scheme);
  all.accumulate = accumulate;
  return run(Job(even(), small::node(ranks), all, FreeModel{}), time);
}

constexpr MegatronOptimizer kOverlapped{.overlap_grad_reduce = true,
                                        .overlap_param_gather = false,
                                        .bucket_size = 2'000'000,
                                        .param_dtype = {},
                                        .grad_reduce_in_fp32 = false};

}  // namespace

TEST_CASE("Megatron: a bucket is reduced when it is full, and gathered after the optimizer") {
  // Gradients of head and layers.2 exist at 160, layers.1 and layers.0 at 290, embed at 300.
  const Step step = run_megatron(kOverlapped);
  CHECK(on_the_wire(step) ==
        "\nreduce-scatter bucket 0: 160 to 190"
        "\nreduce-scatter bucket 1: 290 to 330"
        "\nreduce-scatter bucket 2: 330 to 336"
        "\nall-reduce gradient norm: 336 to 338"
        "\nall-gather bucket 0: 348 to 398"
        "\nall-gather bucket 1: 398 to 448"
        "\nall-gather bucket 2: 448 to 468");
  CHECK(parts(step.times) == "forward 0 backward 36 optimizer 122 | optimizer 10 | iteration 468");
  CHECK(bytes_of(step, kScatters) == Sizes{8'000'000, 8'000'000, 4'096'000});
  CHECK(bytes_of(step, kGathers) == Sizes{8'000'000, 8'000'000, 4'096'000});
}

TEST_CASE("Megatron: forward gathers a bucket ahead, and waits for the first") {
  // Embed waits until 20 and runs until 25. Then layers.0 waits until 70. At that time the last
  // bucket is requested. It arrives at 120, in time for layers.2 at 135. Everything later is 65
  // later.
  MegatronOptimizer scheme = kOverlapped;
  scheme.overlap_param_gather = true;
  const Step step = run_megatron(scheme);
  CHECK(on_the_wire(step) ==
        "\nall-gather bucket 2: 0 to 20"
        "\nall-gather bucket 1: 20 to 70"
        "\nall-gather bucket 0: 70 to 120"
        "\nreduce-scatter bucket 0: 225 to 255"
        "\nreduce-scatter bucket 1: 355 to 395"
        "\nreduce-scatter bucket 2: 395 to 401"
        "\nall-reduce gradient norm: 401 to 403");
  CHECK(parts(step.times) == "forward 65 backward 36 optimizer 2 | optimizer 10 | iteration 413");
  // Parameters are gathered once a step, not in every micro-batch.
  CHECK(bytes_of(run_megatron(scheme, 3), kGathers) == Sizes{4'096'000, 8'000'000, 8'000'000});
}

TEST_CASE("Megatron: without overlap there is one bucket of any size, reduced after backward") {
  MegatronOptimizer scheme = kOverlapped;
  scheme.overlap_grad_reduce = false;
  const Step step = run_megatron(scheme);
  CHECK(on_the_wire(step) ==
        "\nreduce-scatter bucket 0: 300 to 330"
        "\nall-reduce gradient norm: 330 to 332"
        "\nall-gather bucket 0: 342 to 392");
  CHECK(bytes_of(step, kScatters) == Sizes{20'096'000});
  CHECK(parts(step.times) == "forward 0 backward 30 optimizer 52 | optimizer 10 | iteration 392");
}

TEST_CASE("Megatron: only the last micro-batch is reduced; all are added up in the buffer") {
  const Step step = run_megatron(kOverlapped, 2);
  CHECK(on_the_wire(step).starts_with("\nreduce-scatter bucket 0: 460 to 490"));
  CHECK(step.times.iteration == 768_us);
}

TEST_CASE("Megatron: buckets close at a size, and end at a multiple of 128 and of the ranks") {
  // The default is 40 million elements, so there is one bucket. 1'000'000 is 64 less than a
  // multiple of 128.
  MegatronOptimizer scheme{.overlap_grad_reduce = true};
  SimulationOptions all = options(scheme);
  const Job whole(layered(), small::node(2), all, FreeModel{});
  CHECK(bytes_of(run(whole, megatron_times), kScatters) == Sizes{4 * 5'000'064});
  scheme.bucket_size = 1'000'001;
  const Job two(layered(), small::node(2), options(scheme), FreeModel{});
  CHECK(bytes_of(run(two, megatron_times), kScatters) ==
        Sizes{8'000'000, 8'000'000, 4 * 1'000'064});
  // With three ranks, buckets end at multiples of 384.
  const Job three(layered(), small::node(3), options(scheme), FreeModel{});
  CHECK(bytes_of(run(three, megatron_times), kScatters) ==
        Sizes{4 * 2'000'256, 4 * 2'000'256, 4 * 1'000'320});
}

TEST_CASE("Megatron: parameters are gathered in their own type, gradients may be reduced in fp32") {
  MegatronOptimizer scheme = kOverlapped;
  scheme.param_dtype = Dtype::bfloat16;
  CHECK(bytes_of(run_megatron(scheme), kScatters) == Sizes{4'000'000, 4'000'000, 2'048'000});
  scheme.grad_reduce_in_fp32 = true;
  CHECK(bytes_of(run_megatron(scheme), kScatters) == Sizes{8'000'000, 8'000'000, 4'096'000});
  CHECK(bytes_of(run_megatron(scheme), kGathers) == Sizes{4'000'000, 4'000'000, 2'048'000});
}

TEST_CASE("Megatron: one rank takes one GPU's step; free collectives leave only compute") {
  const auto free = [](CollectiveKind, const std::string&, StepPhase) { return 0_us; };
  for (const bool gathers : {false, true}) {
    MegatronOptimizer scheme = kOverlapped;
    scheme.overlap_param_gather = gathers;
    CHECK(run_megatron(scheme, 1, free, 1).times.iteration == 320_us);
    CHECK(run_megatron(scheme, 1, free, 1).times.loss.total() == 0_us);
    CHECK(run_megatron(scheme, 1, free, 4).times.iteration == 305_us);
  }
}

TEST_CASE("Megatron: the buffer is set to zero, gradients are added and scaled") {
  // A byte takes a picosecond, a kernel 1 us. Setting 20.096 MB to zero takes 21.096. Adding makes
  // three passes over 4 MB or 4.096 MB: 13 or 13.288. Scaling takes 17, 17 and 9.192. Casting half
  // of all, in and out, takes 21.096.
  SimulationOptions all = options(kOverlapped);
  all.costs.copy_bandwidth_share = 1;
  all.costs.copy_kernel = 1_us;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = 1000_GBps;
  const Step step = run(Job(even(), cluster, all, FreeModel{}),
                        [](CollectiveKind, const std::string&, StepPhase) { return 0_us; });
  CHECK(step.times.forward == Duration::microseconds(121.096));
  CHECK(step.times.backward == Duration::microseconds(200 + 4 * 13 + 13.288 + 17 + 17 + 9.192));
  CHECK(step.times.optimizer == Duration::microseconds(10 + 21.096));
}
