// A step small enough for paper: three layers, two ranks, times in whole microseconds, one byte a
// picosecond through memory. Whoever changes one thing about it can follow what happens with a pencil.
//
//   gradient               p2      p1      p0      in the order backward writes them
//   bytes                  2 MB    4 MB    1 MB
//   of backward, us        50      120     190     backward takes 200, the forward before it 100
//   its all-reduce, us     40      90      20      each has a bucket of its own: the cap is half a MiB
//   optimizer, us                                  30
//
// Nothing else takes time (free_of_costs):
//
//   us       0         100    150     220     290 300 310  330       360
//   compute  | forward  |  p2  |  p1   |  p0   |   |        |optimizer|
//   wire                       |b0 190||b1             |b2  |
//
// The host is a forward ahead of the GPU, so b0 is launched at 50. The last gradient is followed by 10 us
// of backward. b1 is longer than what is left of it, b2 waits for b1: 30 us are exposed.
//
// Every cost switched on (all_costs), and its round value:
//
//   a kernel of DDP's        3 us (kernel 2, gap 1) and 1 us per MB of each pass over memory
//     copy in or out         two passes: 7, 11, 5 us for p2, p1, p0; all three 23 us
//   hook, launch on the host 10 us, 40 us
//   launch, event to kernel  12 us, 3 us
//
//   us       0      100   150 157  227 238  308 313 323 330 334   345 354 359       389
//   compute  |forward| p2 |cp| p1  |cp | p0  |cp |   |out0| |out1   | |out2|optimizer|
//   wire                    160--200  241--------------------331--351
//   host       hook; at 50 launch -90; hook; at 120 launch -160; hook; at 190 launch -230
//
// Exposed are 323 to 351; copies out of b0 and b1 lie within, b2's 5 us are finalize; 351 to 354 is an
// event on its way.
#pragma once

#include <fmt/format.h>

#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "small_jobs.hpp"

namespace ddpsim::paper {

using namespace ddpsim::literals;

inline constexpr std::size_t kP0 = 0, kP1 = 1, kP2 = 2;  ///< indices in definition order

inline Workload workload() {
  Workload step = small::chain({{2'000'000, 50}, {4'000'000, 120}, {1'000'000, 190}}, 100, 200, 30);
  step.name = "paper";
  return step;
}

/// 64 SMs, so that shares of them are exact; a byte a picosecond.
inline Cluster gpus(int ranks = 2) {
  Cluster cluster = small::node(ranks);
  cluster.gpu.sms = 64;
  cluster.gpu.memory_bandwidth = 1000_GBps;
  return cluster;
}

/// b0, b1, b2; then the map of used parameters, where there is one.
inline RecordedModel wire(std::vector<Duration> durations = {40_us, 90_us, 20_us, 5_us}) {
  return {.durations = std::move(durations), .channels = 0};
}

/// The network takes no time.
inline RecordedModel no_wire() {
  return wire({0_us, 0_us, 0_us});
}

inline SimulationOptions free_of_costs() {
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 0.5;
  return options;
}

inline SimulationOptions all_costs() {
  SimulationOptions options = free_of_costs();
  options.costs = {.copy_bandwidth_share = 1,
                   .copy_kernel = 2_us,
                   .kernel_gap = 1_us,
                   .host_hook = 10_us,
                   .host_launch = 40_us,
                   .host_comm_hook = 30_us,
                   .host_hook_kernel = 5_us,
                   .qr = 20_us,
                   .qr_column = 1_us,
                   .host_step = 3_us,
                   .host_step_kernel = 1_us,
                   .launch_latency = 12_us,
                   .event_latency = 3_us,
                   .host_search_per_parameter = 20_us};
  return options;
}

inline SimulationResult simulated(const SimulationOptions& options,
                                  const Workload& step = workload(),
                                  const CollectiveModel& model = wire(),
                                  const Cluster& cluster = gpus()) {
  const Job job(step, cluster, options, model);
  REQUIRE_FALSE(cannot_simulate(job));
  return simulate(job);
}

inline StepResult step_with(const SimulationOptions& options, const Workload& step = workload(),
                            const CollectiveModel& model = wire(),
                            const Cluster& cluster = gpus()) {
  return simulated(options, step, model, cluster).step;
}

/// What the step above comes to, for tests that change one part of it.
inline StepTimes times_with_all_costs() {
  return {.iteration = 389_us,
          .forward = 100_us,
          .backward = 223_us,
          .backward_compute = 200_us,
          .copies_in = 23_us,
          .communication = 150_us,
          .exposed_communication = 28_us,
          .overlap = 1 - 28 / 150.0,
          .finalize = 5_us,
          .optimizer = 30_us,
          .stall = 3_us};
}

/// Every part that is not as expected, a line each; empty when all are. The laws of the parts are asserted
/// beside: what was worked out by hand must add up, too.
inline std::string differences(const StepTimes& got, const StepTimes& expected) {
  std::string text;
  const auto compare = [&](const char* part, Duration a, Duration b) {
    if (a != b)
      text += fmt::format("\n{}: {} us, expected {} us", part, a.microseconds(), b.microseconds());
  };
  compare("iteration", got.iteration, expected.iteration);
  compare("forward", got.forward, expected.forward);
  compare("buffer broadcast", got.buffer_broadcast, expected.buffer_broadcast);
  compare("backward", got.backward, expected.backward);
  compare("backward compute", got.backward_compute, expected.backward_compute);
  compare("copies in", got.copies_in, expected.copies_in);
  compare("interference", got.interference, expected.interference);
  compare("communication", got.communication, expected.communication);
  compare("wait", got.wait, expected.wait);
  compare("exposed communication", got.exposed_communication, expected.exposed_communication);
  compare("finalize", got.finalize, expected.finalize);
  compare("SyncBatchNorm", got.sync_batchnorm, expected.sync_batchnorm);
  compare("optimizer", got.optimizer, expected.optimizer);
  compare("model averaging", got.model_averaging, expected.model_averaging);
  compare("stall", got.stall, expected.stall);
  compare("slowest GPU", got.slowest_gpu, expected.slowest_gpu);
  compare("unexplained", got.unexplained, expected.unexplained);
  compare("forward ahead", got.forward_ahead, expected.forward_ahead);
  const double overlap = got.overlap.value_or(-1);
  const double expected_overlap = expected.overlap.value_or(-1);
  if (overlap != doctest::Approx(expected_overlap).epsilon(1e-9))
    text += fmt::format("\noverlap: {}, expected {}", overlap, expected_overlap);
  CHECK(expected.iteration == expected.forward + expected.backward + expected.sync_batchnorm +
                                  expected.exposed_communication + expected.finalize +
                                  expected.optimizer + expected.stall + expected.slowest_gpu +
                                  expected.unexplained);
  CHECK(expected.backward ==
        expected.backward_compute + expected.copies_in + expected.interference);
  return text;
}

/// One bucket of a step, instants counted from the start of rank 0's forward.
struct Row {
  Duration ready;
  Duration launch;
  Duration start;
  Duration last_arrival;
  Duration end;
  Bytes on_the_wire;
  std::string exposed_because = "";
  int last_rank = 0;
};

inline const std::string kLonger = "takes longer than the rest of backward";
inline const std::string kInFront = "queued behind the previous bucket";
inline const std::string kReadyLast =
    "its last gradient ends backward, so no compute is left to hide it";

inline std::string differences(const std::vector<BucketResult>& got,
                               const std::vector<Row>& expected) {
  if (got.size() != expected.size())
    return fmt::format("{} buckets, expected {}", got.size(), expected.size());
  std::string text;
  for (std::size_t b = 0; b < got.size(); ++b) {
    const auto compare = [&](const char* part, TimePoint a, Duration c) {
      if (a.since_start() != c)
        text += fmt::format("\nbucket {} {}: {} us, expected {} us", b, part,
                            a.since_start().microseconds(), c.microseconds());
    };
    compare("ready", got[b].ready, expected[b].ready);
    compare("launch", got[b].launch, expected[b].launch);
    compare("start", got[b].start, expected[b].start);
    compare("last arrival", got[b].last_arrival, expected[b].last_arrival);
    compare("end", got[b].end, expected[b].end);
    if (got[b].bytes != expected[b].on_the_wire)
      text += fmt::format("\nbucket {} carries {} bytes, expected {}", b, got[b].bytes.count(),
                          expected[b].on_the_wire.count());
    if (got[b].exposed_because != expected[b].exposed_because)
      text += fmt::format("\nbucket {} because \"{}\", expected \"{}\"", b, got[b].exposed_because,
                          expected[b].exposed_because);
    if (got[b].last_rank != expected[b].last_rank)
      text += fmt::format("\nbucket {} last rank {}, expected {}", b, got[b].last_rank,
                          expected[b].last_rank);
  }
  return text;
}

/// Spans as lines "compute backward 1: 157 to 227", the number being the bucket's.
inline std::string drawn(const RankTimeline& rank) {
  std::string text;
  for (const Span& span : rank.spans)
    text +=
        fmt::format("\n{} {}{}: {} to {}", name_of(span.track), span.name,
                    span.bucket ? fmt::format(" {}", *span.bucket) : "",
                    span.start.since_start().microseconds(), span.end.since_start().microseconds());
  return text;
}

}  // namespace ddpsim::paper
