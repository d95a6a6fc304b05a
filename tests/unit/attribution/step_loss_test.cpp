// Efficiency losses on the step of paper_step.hpp: each mechanism alone, then all at random.
// random.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/split_mix.hpp"

#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// Differences between what the step loses and `expected`, with every other cause expected to lose
/// nothing.
std::string lost_by(const SimulationOptions& options,
                    std::initializer_list<std::pair<LossCause, Duration>> expected,
                    const Workload& step = workload(), const CollectiveModel& model = wire(),
                    const Cluster& cluster = gpus()) {
  const StepTimes times = step_with(options, step, model, cluster).times;
  const Loss by_hand = small::lost(expected);
  std::string text;
  for (const LossCause cause : all_loss_causes())
    if (times.loss[cause] != by_hand[cause])
      text += fmt::format("\n{}: {} us, expected {} us", name_of(cause),
                          times.loss[cause].microseconds(), by_hand[cause].microseconds());
  if (times.alone() != 330_us) text += fmt::format("\nalone {} us", times.alone().microseconds());
  return text;
}

/// Compares the step computed in whole phases with the step computed gradient by gradient.
void check_alike(const StepTimes& phases, const StepTimes& gradients) {
  for (const auto part : {&StepTimes::iteration,
                          &StepTimes::forward,
                          &StepTimes::buffer_broadcast,
                          &StepTimes::backward,
                          &StepTimes::backward_compute,
                          &StepTimes::copies_in,
                          &StepTimes::interference,
                          &StepTimes::communication,
                          &StepTimes::wait,
                          &StepTimes::exposed_communication,
                          &StepTimes::exposed_in_backward,
                          &StepTimes::optimizer_in_backward,
                          &StepTimes::finalize,
                          &StepTimes::optimizer,
                          &StepTimes::sync_batchnorm,
                          &StepTimes::model_averaging,
                          &StepTimes::stall,
                          &StepTimes::slowest_gpu,
                          &StepTimes::unexplained,
                          &StepTimes::slowed_backward,
                          &StepTimes::launch_bound,
                          &StepTimes::forward_ahead})
    CHECK(phases.*part == gradients.*part);
  for (const LossCause cause : all_loss_causes())
    CHECK(phases.loss[cause] == gradients.loss[cause]);
  CHECK(phases.host == gradients.host);
}

}  // namespace

TEST_CASE("loss: one GPU without DDP loses nothing") {
  CHECK(lost_by(free_of_costs(), {}, workload(), wire({Duration(), Duration(), Duration()})) == "");
  CHECK(lost_by(free_of_costs(), {{LossCause::exposed_all_reduce, 30_us}}) == "");
}

TEST_CASE("loss: copies, and returning a bucket, besides the exposed transfers") {
  // Copies in take 23 us, and the copy out of b2 takes 5. From 323 to 351 transfers are exposed,
  // and from 351 to 354 an event is on its way.
  CHECK(lost_by(all_costs(),
                {{LossCause::copies, 28_us}, {LossCause::exposed_all_reduce, 31_us}}) == "");
}

TEST_CASE("loss: a late host counts as hooks, before the bucket and under a communication hook") {
  SimulationOptions options = free_of_costs();
  options.costs.host_hook = 100_us;  // launched at 100, 200, 300
  CHECK(lost_by(options, {{LossCause::exposed_all_reduce, 30_us}}) == "");
  // Launched at 300, 600 and 900, so idle from 340 and from 690.
  options.costs.host_hook = 300_us;
  const Loss loss = step_with(options).times.loss;
  CHECK(loss[LossCause::hooks] == 260_us + 210_us);
  CHECK(loss[LossCause::exposed_all_reduce] == 150_us);
}

TEST_CASE("loss: NCCL during compute costs exactly what the interference setting says") {
  SimulationOptions options = free_of_costs();
  options.interference = {.sm_share = 1, .memory_share = 0};
  RecordedModel on_eight = wire();
  on_eight.channels = 8;
  const StepTimes times = step_with(options, workload(), on_eight).times;
  CHECK(times.loss[LossCause::interference] == times.interference);
  CHECK(times.interference > Duration());
  CHECK(times.alone() == 330_us);
}

TEST_CASE("loss: the slowest of the GPUs, and the multi-GPU overhead") {
  SimulationOptions options = free_of_costs();
  options.rank_slowdown = {.several_gpus = 0.25};
  const Loss loss = step_with(options).times.loss;
  CHECK(loss[LossCause::unexplained] == 82.5_us);
  CHECK(loss[LossCause::slowest_gpu] == Duration());
  options.rank_slowdown = {.gpu_spread = 0.1};
  const StepTimes spread = step_with(options).times;
  CHECK(spread.loss[LossCause::unexplained] == Duration());
  CHECK(spread.loss[LossCause::slowest_gpu].microseconds() ==
        doctest::Approx(330 * 0.05642).epsilon(1e-5));
  CHECK(spread.alone().microseconds() == doctest::Approx(330).epsilon(1e-6));
}

TEST_CASE("loss: the straggler causes the waits and its own longer compute") {
  // On rank 0, 170 us are exposed, of which 60 are waits (simulate/paper_ranks_test.cpp).
  SimulationOptions options = free_of_costs();
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.5}};
  CHECK(lost_by(options,
                {{LossCause::straggler, 60_us}, {LossCause::exposed_all_reduce, 110_us}}) == "");
  options.variation.stragglers = {{.rank = 0, .slowdown = 1.5}};
  CHECK(lost_by(options, {{LossCause::straggler, 165_us}, {LossCause::exposed_all_reduce, 5_us}}) ==
        "");
}

TEST_CASE("loss: jitter causes waits of its own, and more or less compute") {
  SimulationOptions options = free_of_costs();
  options.variation.jitter = 0.2;
  options.iterations = 12;
  bool faster = false;
  for (const StepResult& step : simulated(options).iterations) {
    CAPTURE(step.iteration);
    CHECK(step.times.alone().microseconds() == doctest::Approx(330).epsilon(1e-6));
    CHECK(step.times.loss[LossCause::jitter] != Duration());
    CHECK(step.times.loss[LossCause::straggler] == Duration());
    faster = faster || step.times.loss[LossCause::jitter] < Duration();
  }
  CHECK(faster);
  options.variation.jitter = 0;
  CHECK(simulated(options).step.times.loss[LossCause::jitter] == Duration());
}

TEST_CASE("loss: in joined recordings, the rank that comes last is the slowest GPU") {
  Workload step = workload();
  step.ranks.resize(2);
  for (int rank = 0; rank < 2; ++rank) {
    RankRecording& own = step.ranks[static_cast<std::size_t>(rank)];
    static_cast<Recorded&>(own) = step;
    own.rank = rank;
  }
  step.ranks[1].backward->duration = 400_us;
  for (ReadyEvent& event : step.ranks[1].backward->ready) event.at += 200_us;
  const Loss loss = step_with(free_of_costs(), step).times.loss;
  CHECK(loss[LossCause::slowest_gpu] > Duration());
  CHECK(loss[LossCause::straggler] == Duration());
}

TEST_CASE("loss: the map of used parameters, buffers, SyncBatchNorm") {
  SimulationOptions options = free_of_costs();
  options.ddp_to_set().find_unused_parameters = true;
  CHECK(lost_by(options, {{LossCause::exposed_all_reduce, 30_us}, {LossCause::used_map, 5_us}}) ==
        "");
  Workload step = workload();
  step.buffers = {{.dtype = Dtype::float32, .bytes = 4_B, .tensors = 1}};
  options = free_of_costs();
  const StepTimes with = step_with(options, step).times;
  CHECK(with.loss[LossCause::buffer_broadcast] == with.buffer_broadcast);
  CHECK(with.blocking_communication() == with.buffer_broadcast + with.exposed_communication);
  CHECK(with.buffer_broadcast > Duration());
  options.ddp_to_set().broadcast_buffers = false;
  CHECK(lost_by(options, {{LossCause::exposed_all_reduce, 30_us}}, step) == "");
}

TEST_CASE(
    "loss: a recorded broadcast of buffers is lost with its copies, except what overlaps the step "
    "before") {
  Workload step = workload();
  step.forward = 133_us;  // 5 flatten, 20 broadcast, 8 copy back
  step.recorded_with.ddp_hooks = true;
  step.buffers = {{.dtype = Dtype::float32, .bytes = 1'000'000_B, .tensors = 2}};
  step.recorded_with.buffer_broadcast = 20_us;
  const auto lost = [&] { return step_with(all_costs(), step).times.loss; };
  CHECK(lost()[LossCause::buffer_broadcast] == 20_us);
  const Duration copies = lost()[LossCause::copies];
  step.iteration = 353_us;  // 10 us of it remain
  CHECK(lost()[LossCause::buffer_broadcast] == 10_us);
  CHECK(lost()[LossCause::copies] == copies);
}

TEST_CASE(
    "loss: what a measured step adds to compute is unexplained, unless one GPU was measured") {
  SimulationOptions options = free_of_costs();
  options.compute_scale = 1 / 1.5;
  options.unexplained_compute = 1.5;
  CHECK(lost_by(options,
                {{LossCause::exposed_all_reduce, 5_us}, {LossCause::unexplained, 165_us}}) == "");
}

TEST_CASE("loss: every picosecond lost by random jobs has one cause, and one GPU loses nothing") {
  std::uint64_t state = 20;
  const auto below = [&](std::uint64_t n) { return next_random(state) % n; };
  const auto chance = [&](std::uint64_t one_in) { return below(one_in) == 0; };
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    Workload step = workload();
    if (chance(3)) step.buffers = {{.dtype = Dtype::float32, .bytes = 12'000'000_B, .tensors = 7}};
    if (chance(4)) step.iteration = Duration::microseconds(static_cast<double>(250 + below(200)));
    SimulationOptions options = chance(3) ? free_of_costs() : all_costs();
    options.ddp_to_set().bucket_cap_mb = chance(2) ? 0.5 : 25;
    options.ddp_to_set().find_unused_parameters = chance(4);
    options.ddp_to_set().gradient_as_bucket_view = chance(4);
    options.accumulate = chance(4) ? 3 : 1;
    if (chance(5)) options.ddp_to_set().comm_hook = CommHook::fp16_compress;
    if (chance(5)) options.ddp_to_set().comm_hook = CommHook::power_sgd;
    if (chance(5)) options.ddp_to_set().comm_hook = CommHook::post_local_sgd;
    options.ddp_to_set().local_sgd = {.period = static_cast<int>(1 + below(5)),
                                      .averages_gradients = !chance(3)};
    if (options.ddp().comm_hook == CommHook::none && chance(3)) {
      options.ddp_to_set().optimizer_in_backward = true;
      options.optimizer.kind = chance(2) ? Optimizer::adam : Optimizer::sgd;
    }
    options.ddp_to_set().power_sgd = {.matrix_approximation_rank = static_cast<int>(1 + below(5)),
                                      .min_compression_rate = chance(2) ? 0.1 : 2};
    if (chance(3)) options.ddp_to_set().process_groups = 2;
    if (chance(3)) options.interference = {.sm_share = 0.7, .memory_share = 0.3};
    if (chance(2)) options.rank_slowdown = {.gpu_spread = 0.013, .several_gpus = 0.037};
    if (chance(3)) options.variation.stragglers = {{static_cast<int>(below(4)), 1.37}};
    if (chance(4)) {
      options.iterations = 3;
      options.variation.jitter = chance(2) ? 0.11 : 0;
      options.variation.stagger = chance(2) ? 77_us : Duration();
    }
    options.compute_scale = chance(3) ? 1.7 : 1;
    RecordedModel model =
        wire({Duration::microseconds(static_cast<double>(below(200))), 31_us, 17_us, 5_us});
    model.channels = static_cast<int>(below(9));
    const Job job(step, gpus(4), options, model);
    if (cannot_simulate(job)) continue;
    const SimulationResult result = simulate(job);
    if (options.iterations == 0) check_alike(simulate_times(job), result.step.times);
    const Span* first = nullptr;
    for (const Span& span : result.timeline.ranks.front().spans)
      if (first == nullptr && span.track == Track::compute && span.name == "optimizer")
        first = &span;
    if (first != nullptr) {
      CHECK(result.step.optimizer_start == first->start);
      CHECK(result.step.optimizer_end == first->end);
    }
    std::vector<StepTimes> all = {result.step.times};
    for (const StepResult& one : result.iterations) all.push_back(one.times);

    for (const StepTimes& times : all) {
      Duration sum = times.alone();
      for (const LossCause cause : all_loss_causes()) {
        sum += times.loss[cause];
        if (!may_gain(cause)) CHECK(times.loss[cause] >= Duration());
      }
      CHECK(sum == times.iteration);
      CHECK(times.blocking_communication() <= times.iteration);
      // One GPU's step is the recorded one, whatever the job adds.
      const double compute = 300.0 * options.accumulate + 30;
      const double stall = step.iteration ? step.iteration->microseconds() - 330 : 0;
      const double pause = std::max(stall, 0.0) * options.accumulate;
      const double ahead = -std::min(stall, 0.0) * options.accumulate;
      const double added =
          options.accumulate > 1 && options.costs.kernel_gap > Duration() ? 60.0 : 0;
      CHECK(
          times.alone().microseconds() ==
          doctest::Approx((compute - ahead) / options.compute_scale + pause + added).epsilon(1e-5));
    }
  }
}
