// powerSGD_hook on matrices small enough to calculate by hand.
#include "power_sgd.hpp"

#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Parameter shaped(std::vector<std::int64_t> shape) {
  Parameter parameter;
  parameter.name = "weight";
  parameter.shape = std::move(shape);
  return parameter;
}

/// One matrix of 4 MB after each 50 us of backward. Forward takes 100 us. Products cost no
/// operations.
struct Matrices {
  explicit Matrices(int count) {
    std::vector<small::Gradient> gradients;
    for (int k = 1; k <= count; ++k) gradients.push_back({4'000'000, 50.0 * k});
    workload = small::chain(gradients, 100, 50.0 * count + 20);
    for (Parameter& parameter : workload.parameters) parameter.shape = {{1000, 1000}};
    options.ddp_to_set().comm_hook = CommHook::power_sgd;
    options.ddp_to_set().bucket_cap_mb = 1;
    options.ddp_to_set().gradient_as_bucket_view = true;
    cluster.gpu.fp32_tflops = 0;
    cluster.gpu.memory_bandwidth = 1000_GBps;  // a byte a picosecond
  }
  /// A recorded bucket takes no time. The hook's all-reduces are not recorded and take 30 us each.
  StepResult step() const {
    const Job job(workload, cluster, options,
                  RecordedModel{.durations = {0_us, 0_us, 30_us, 30_us}});
    REQUIRE_FALSE(cannot_simulate(job));
    return simulate(job).step;
  }

  Workload workload;
  SimulationOptions options = small::bare();
  Cluster cluster = small::node(2);
};

}  // namespace

TEST_CASE("PowerSGD: which gradients are compressed, and with which rank") {
  const auto matrix = [](std::vector<std::int64_t> shape, int rank, double rate = 2) {
    return low_rank(shaped(std::move(shape)), {rank, rate});
  };
  CHECK(matrix({1000, 1000}, 4)->rank == 4);
  const auto convolution = matrix({512, 512, 3, 3}, 1);
  CHECK(convolution->rows == 512);
  CHECK(convolution->columns == 4608);
  CHECK_FALSE(matrix({64, 3, 7, 7}, 33));  // 211 * 33 * 2 of 9408
  CHECK_FALSE(matrix({1000}, 1));          // 1001 * 2 of 1000
  CHECK(matrix({1000}, 4, 0.5)->rank == 1);
  CHECK_FALSE(matrix({4, 4}, 1));  // saves exactly the minimum
  CHECK(matrix({4, 5}, 1));        // 18 of 20
  CHECK(matrix({1000, 3}, 8, 0.5)->rank == 3);
}

TEST_CASE("PowerSGD: a bucket has three all-reduces, without those that carry nothing") {
  Matrices matrices(1);
  matrices.options.ddp_to_set().power_sgd.matrix_approximation_rank = 2;
  const StepResult step = matrices.step();
  CHECK(step.buckets[0].all_reduces == std::vector<Bytes>{0_B, 8'000_B, 8'000_B});
  CHECK(step.buckets[0].bytes == 16'000_B);
  CHECK(step.times.communication == 60_us);
  CHECK(all_reduce_sizes(Job(matrices.workload, matrices.cluster, matrices.options, FreeModel{})) ==
        step.buckets[0].all_reduces);
}

TEST_CASE("PowerSGD: backward waits after every bucket") {
  // The first bucket is ready at 150. P and Q take 60 us and backward 50 more, so the second is
  // ready at 260. Its 60 us and the rest of backward follow.
  const StepResult step = Matrices(2).step();
  CHECK(step.times.iteration == 100_us + 120_us + 2 * 60_us);
  CHECK(step.times.backward == 120_us);
  CHECK(step.times.exposed_communication == 120_us);
  CHECK(step.times.exposed_in_backward == 120_us);
  CHECK(step.times.overlap == 0);
  CHECK(step.times.loss[LossCause::exposed_all_reduce] == 120_us);
  CHECK(step.times.alone() == 220_us);
  CHECK(end_of_backward(step.times) == small::at(340_us));
  CHECK(step.buckets[0].start == small::at(150_us));
  CHECK(step.buckets[0].end == small::at(210_us));
  CHECK(step.buckets[1].ready == small::at(260_us));
  CHECK(step.buckets[1].exposed_because == "backward waits for its communication hook");
}

TEST_CASE("PowerSGD: its kernels are passes over memory") {
  // Passes over 4 MB: adding the error takes 3, copying 2, the next error 3, which is 32 MB. M is
  // read for P, read for Q, and written: 12 MB. The copy into the bucket is 8 MB. A pass over P or
  // Q is only 4 KB: each is read or written by three products, Q is divided (2), and both are
  // orthogonalised (3).
  Matrices matrices(1);
  matrices.options.costs.copy_bandwidth_share = 1;
  const StepTimes times = matrices.step().times;
  const Duration few = Duration::picoseconds(4'000 * (6 + 2 + 6));
  CHECK((times.copies_in - (8_us + 32_us + 12_us + few)) <= Duration::picoseconds(20));
  CHECK((times.copies_in - (8_us + 32_us + 12_us + few)) >= -Duration::picoseconds(20));
  CHECK(times.loss[LossCause::copies] == times.copies_in);
}

TEST_CASE("PowerSGD: a host that launches kernel by kernel sets the pace") {
  // Rank 1 needs 5 kernels first: add, clone, two to orthogonalise, product. Then 3, then 2, and
  // the error's after the wait.
  //
  // A host far ahead has launched all except the last one. A host that reaches the gradient with
  // the GPU, at 150, launches 5 until 200. It launches 3 until 230, during P, which ends then, and
  // 2 until 260, during Q. The error's kernel ends at 270.
  Matrices matrices(1);
  matrices.options.costs.host_hook_kernel = 10_us;
  CHECK(matrices.step().times.loss[LossCause::hooks] == 10_us);
  matrices.workload.host_ready = {50_us};
  const StepTimes times = matrices.step().times;
  CHECK(times.iteration == 270_us + 20_us);
  CHECK(times.loss[LossCause::hooks] == 60_us);
  // Rank 2 needs 8 kernels instead of 2, twice.
  matrices.options.ddp_to_set().power_sgd.matrix_approximation_rank = 2;
  CHECK(matrices.step().times.iteration == times.iteration + 120_us);
  // From 1.12 on, rank 3 uses torch.linalg.qr: 20 + 3 * 1 us, twice.
  matrices.options.ddp_to_set().power_sgd.matrix_approximation_rank = 3;
  matrices.options.costs.qr = 20_us;
  matrices.options.costs.qr_column = 1_us;
  matrices.options.torch = {1, 12};
  // On the host, and on the GPU after it.
  const Duration once = 23_us + 23_us;
  CHECK(matrices.step().times.iteration >= times.iteration - 40_us + once);
  CHECK(matrices.step().times.iteration <= times.iteration - 40_us + 2 * once);
  matrices.options.torch = {1, 11};
  CHECK(matrices.step().times.iteration == times.iteration + 2 * 120_us);
}

TEST_CASE("PowerSGD: after its wait the host has nothing launched in advance") {
  Matrices matrices(2);
  matrices.workload.launches = Launches{.forward = 10, .backward = {2, 2}, .optimizer = 0};
  matrices.options.costs.host_kernel = 5_us;
  // Without the hook, launches are hidden. With it, three kernels are launched after a wait: the
  // first of the second matrix, and the two after it. One of them is 5 us late.
  matrices.options.ddp_to_set().comm_hook = CommHook::none;
  CHECK(matrices.step().times.launch_bound == Duration());
  matrices.options.ddp_to_set().comm_hook = CommHook::power_sgd;
  CHECK(matrices.step().times.launch_bound >= 5_us);
  CHECK(matrices.step().times.launch_bound <= 15_us);
}

TEST_CASE("PowerSGD: gradients on which the hook fails are refused") {
  const auto problem = [](auto change) {
    Matrices matrices(1);
    change(matrices.workload.parameters[0]);
    return cannot_simulate(Job(matrices.workload, matrices.cluster, matrices.options, FreeModel{}))
        .value_or("");
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(problem([](Parameter&) {}) == "");
  CHECK(says(problem([](Parameter& parameter) { parameter.sparse_gradient = true; }),
             "has a sparse gradient, and powerSGD_hook fails on it"));
  CHECK(says(problem([](Parameter& parameter) { parameter.shape = std::vector<std::int64_t>{}; }),
             "is a scalar"));
  CHECK(says(problem([](Parameter& parameter) { parameter.shape = {{4, 0}}; }), "no elements"));
  CHECK(says(problem([](Parameter& parameter) { parameter.dtype = Dtype::int32; }),
             "not of a floating-point type"));
}
