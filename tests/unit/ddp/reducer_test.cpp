// The collectives that the reducer launches: kind, bytes, channels and memory traffic.
#include "planned_step.hpp"
#include "schedule_step.hpp"

#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

PlannedStep scheduled(const SimulationOptions& options, const StepKind& kind = {},
                      const Workload& step = workload(), const CollectiveModel& model = wire(),
                      const Cluster& cluster = gpus(), const std::vector<RankState>& states = {}) {
  return schedule_step(Job(step, cluster, options, model),
                       steady_buckets(step, options.ddp(), options.torch), kind, states);
}

std::vector<Bytes> sizes(const PlannedStep& planned, CollectiveKind kind) {
  std::vector<Bytes> bytes;
  for (const ScheduledCollective& one : planned.schedule.collectives)
    if (one.kind == kind) bytes.push_back(one.size);
  return bytes;
}

std::vector<std::uint32_t> all_reduces_of(const PlannedStep& planned) {
  std::vector<std::uint32_t> all;
  for (const BucketCollectives& bucket : planned.buckets)
    all.insert(all.end(), bucket.collectives.begin(), bucket.collectives.end());
  return all;
}

}  // namespace

TEST_CASE(
    "reducer: an all-reduce per bucket, then the map of used parameters with four bytes each") {
  SimulationOptions options = all_costs();
  CHECK(sizes(scheduled(options), CollectiveKind::all_reduce) ==
        std::vector<Bytes>{2'000'000_B, 4'000'000_B, 1'000'000_B});
  CHECK_FALSE(scheduled(options).local_used_map);
  options.ddp_to_set().find_unused_parameters = true;
  const PlannedStep searched = scheduled(options);
  CHECK(sizes(searched, CollectiveKind::all_reduce) ==
        std::vector<Bytes>{2'000'000_B, 4'000'000_B, 1'000'000_B, 12_B});
  CHECK(searched.local_used_map == 3);
  CHECK(all_reduces_of(searched) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(sizes(searched, CollectiveKind::broadcast).empty());
}

TEST_CASE("reducer: broadcasts come first, rebuilding before buffers") {
  // First the order of three parameters and their count, then the bytes of three buckets. Every
  // entry has four bytes.
  Workload step = workload();
  step.buffers = {{.bytes = 700_B}, {.bytes = 500_B}};
  const PlannedStep planned = scheduled(all_costs(), {.rebuild = true}, step);
  CHECK(sizes(planned, CollectiveKind::broadcast) == std::vector<Bytes>{16_B, 12_B, 700_B, 500_B});
  CHECK(all_reduces_of(planned) == std::vector<std::uint32_t>{4, 5, 6});
  CHECK(planned.collectives.size() == 7);
  step.parameters[kP0].ignored = true;
  CHECK(sizes(scheduled(all_costs(), {.rebuild = true}, step), CollectiveKind::broadcast) ==
        std::vector<Bytes>{12_B, 8_B, 700_B, 500_B});
}

TEST_CASE("reducer: process groups, threads and load of the wire depend on options and backend") {
  SimulationOptions options = all_costs();
  options.ddp_to_set().process_groups = 3;
  const InFlight nccl = scheduled(options).schedule.in_flight;
  CHECK(nccl.groups == 3);
  CHECK(nccl.threads == 1);
  CHECK(nccl.to_fill == 1);
  const GlooModel gloo{.links = {.to_fill = 1.25, .host = 100_GBps, .threads = 4}};
  const InFlight threads = scheduled(options, {}, workload(), gloo).schedule.in_flight;
  CHECK(threads.threads == 4);
  CHECK(threads.to_fill == doctest::Approx(1.25));
}

TEST_CASE("reducer: each byte that passes a rank makes three memory accesses") {
  // An all-reduce of S bytes over four ranks passes 2 * 3/4 S through each of them. A broadcast
  // passes S.
  Workload step = workload();
  step.buffers = {{.bytes = 4'000'000_B}};
  const auto loads = [&](const Cluster& cluster) {
    const AnalyticModel model{};
    return scheduled(all_costs(), {}, step, model, cluster).schedule.collectives;
  };
  const Cluster four = gpus(4);
  for (const ScheduledCollective& one : loads(four)) {
    const double passing = one.kind == CollectiveKind::all_reduce ? 1.5 : 1;
    const double bytes_per_second =
        3 * passing * static_cast<double>(one.size.count()) / one.transfer.seconds();
    CHECK(one.memory_load == doctest::Approx(bytes_per_second / 1e12));
    CHECK(one.memory_load > 0.01);
    CHECK(one.channels > 0);
  }
  Cluster slow = four;
  slow.gpu.memory_bandwidth = 1_GBps;  // load is at most 1
  CHECK(loads(slow).back().memory_load == 1);
  CHECK(loads(gpus(1)).back().memory_load == 0);
  // Recorded durations include waits, so they say nothing about traffic.
  CHECK(scheduled(all_costs()).schedule.collectives[0].memory_load == 0);
}

TEST_CASE("reducer: ranks that compute alike and begin together share one program") {
  const std::vector<RankState> states = {{.slowdown = 1, .start = {}},
                                         {.slowdown = 2, .start = {}},
                                         {.slowdown = 1, .start = 5_us},
                                         {.slowdown = 2, .start = {}},
                                         {.slowdown = 1, .start = -8_us}};
  const PlannedStep planned = scheduled(all_costs(), {}, workload(), wire(), gpus(5), states);
  CHECK(planned.program_of_rank == std::vector<std::size_t>{0, 1, 2, 1, 3});
  REQUIRE(planned.schedule.ranks.size() == 4);
  CHECK(planned.schedule.ranks[2].rank == 2);
  CHECK(planned.schedule.ranks[3].rank == 4);
  CHECK(planned.schedule.start == TimePoint(-8_us));
  CHECK(scheduled(all_costs()).program_of_rank.empty());
}

TEST_CASE("reducer: a rank that begins later reaches its gradients later, on GPU and host") {
  // Rank 1 begins 500 us after rank 0 and computes half as fast. Its host reaches p2 at 500 + 100
  // and launches until 640. Its GPU writes p2 at 500 + 300 and has copied it 7 us later. The kernel
  // starts 3 us after that.
  const std::vector<RankState> states = {{}, {.slowdown = 2, .start = 500_us}};
  const PlannedStep planned = scheduled(all_costs(), {}, workload(), wire(), gpus(), states);
  const Execution execution = execute(planned.schedule, {});
  CHECK(execution.ranks[1].host[planned.launch_operation[0]].end == TimePoint(640_us));
  CHECK(execution.collectives[0].last_arrival == TimePoint(810_us));
  CHECK(execution.collectives[0].last == 1);
  // Rank 0's host began at zero.
  CHECK(execution.ranks[0].host[planned.launch_operation[0]].end == TimePoint(90_us));
}

TEST_CASE("reducer: a gradient outside DDP takes its time and launches nothing") {
  Workload step = workload();
  step.parameters[kP1].ignored = true;
  const StepResult result = step_with(all_costs(), step);
  // p2 is written at 150 and copied at 157, p1 at 227 without a copy, p0 at 297 and copied at 302.
  // Backward ends at 312.
  CHECK(result.times.backward == 212_us);
  CHECK(result.times.copies_in == 12_us);
  REQUIRE(result.buckets.size() == 2);
  CHECK(result.buckets[1].ready == TimePoint(297_us));
  CHECK(result.buckets[1].launch == TimePoint(230_us));  // one hook since the last launch
}

TEST_CASE("reducer: sparse gradients are all-reduced but not copied out") {
  // p1 is in a bucket of its own, and its copy out, 11 us, is left out.
  Workload step = workload();
  step.parameters[kP1].sparse_gradient = true;
  const SimulationResult result = simulated(all_costs(), step, wire({40_us, 10_us, 20_us}));
  CHECK(result.step.buckets.at(1).bucket.closed_by == ClosedBy::sparse);
  CHECK(drawn(result.timeline.ranks[0]).find("copy out of bucket 1") == std::string::npos);
  CHECK(drawn(result.timeline.ranks[0]).find("copy out of bucket 2: 339 to 344") !=
        std::string::npos);
}

TEST_CASE(
    "reducer: if no parameter of DDP gets a gradient, all buckets are launched after backward") {
  // Only p2, outside DDP, gets a gradient. The host searches until 60, launches buckets at 100 and
  // 140, and the map at 180. The compute stream gets there at 300. Kernels follow 3 us later, one
  // after the other.
  Workload step = workload();
  step.parameters[kP2].ignored = true;
  step.backward->ready.resize(1);
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const StepResult result = step_with(options, step);
  REQUIRE(result.buckets.size() == 2);
  CHECK(result.buckets[0].launch == TimePoint(100_us));
  CHECK(result.buckets[1].launch == TimePoint(140_us));
  CHECK(result.buckets[0].start == TimePoint(303_us));
  CHECK(result.buckets[1].end == TimePoint(433_us));
  CHECK(result.times.communication == 150_us);  // the map is the third
  CHECK(result.times.backward ==
        203_us + Duration::picoseconds(16));  // the map is copied to the device
}

TEST_CASE("reducer: traffic slows compute by its share of memory while it moves") {
  // One bucket is ready at 50 of 1000 us of backward. It takes T at load L, so compute loses half
  // of L over T.
  const Workload step = small::chain({{4'000'000, 50}}, 100, 1000);
  const AnalyticModel model{};
  SimulationOptions options = free_of_costs();
  const ScheduledCollective bucket = scheduled(options, {}, step, model).schedule.collectives.at(0);
  CHECK(step_with(options, step, model).times.interference == Duration());
  options.interference.memory_share = 0.5;
  const StepTimes times = step_with(options, step, model).times;
  CHECK(times.communication == bucket.transfer);
  CHECK(times.interference.microseconds() ==
        doctest::Approx(bucket.transfer.microseconds() * bucket.memory_load / 2).epsilon(1e-5));
}
