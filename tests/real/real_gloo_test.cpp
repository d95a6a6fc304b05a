// Ranks as threads over gloo on this machine. Sums are right, and buckets are launched as sim
// assigns them.
#ifdef DDPSIM_WITH_GLOO
#include <doctest/doctest.h>

#include <future>

#include "cpu_device.hpp"
#include "fake_world.hpp"
#include "gloo_communicator.hpp"
#include "patience.hpp"
#include "replay_runner.hpp"

using namespace ddpsim;
using ddpsim::testing::patient;
using namespace std::chrono_literals;

namespace {

struct Outcome {
  std::vector<StepRecord> records;
  std::vector<std::vector<double>> averaged;  ///< for each parameter, after the first step
};

Outcome run_rank(std::uint16_t port, int rank, int ranks, const Workload& workload,
                 const ReducerOptions& options, int steps) {
  StoreClient store("127.0.0.1", port,
                    {.rank = rank, .ranks = ranks, .version = "", .job = "", .token = ""},
                    patient(20s));
  const HostClock clock(monotonic_ns());
  Outcome outcome;
  {
    CpuDevice device(clock);
    GlooCommunicator communicator(store, store.own_address(), rank, ranks, clock, patient(20s));
    ReplayRunner runner(device, communicator, clock, workload, options);
    runner.run_step(1);
    for (std::size_t i = 0; i < workload.parameters.size(); ++i)
      outcome.averaged.push_back(device.read(runner.reducer().averaged(i)));
    for (int step = 2; step <= steps; ++step) runner.run_step(step);
    outcome.records = runner.records();
    runner.check_step(steps + 1);
    store.barrier("done");
  }
  store.leave();
  return outcome;
}

std::vector<Outcome> run_all(int ranks, const Workload& workload, const ReducerOptions& options,
                             int steps) {
  const Listening listening = listen_on("127.0.0.1", 0);
  const StoreServer server(listening, ranks, patient(20s));
  std::vector<std::future<Outcome>> futures;
  for (int rank = 0; rank < ranks; ++rank)
    futures.push_back(std::async(std::launch::async, run_rank, listening.port, rank, ranks,
                                 std::cref(workload), options, steps));
  std::vector<Outcome> outcomes;
  for (auto& future : futures) outcomes.push_back(future.get());
  return outcomes;
}

}  // namespace

TEST_CASE("real gloo: every rank gets the mean of all gradients, for all sizes") {
  for (const int ranks : {1, 2, 3}) {
    for (const bool views : {false, true}) {
      CAPTURE(ranks);
      CAPTURE(views);
      ReducerOptions options;
      options.bucket_cap_mb = 0.0001;
      options.gradient_as_bucket_view = views;
      Workload workload = ddpsim::testing::small_workload({1, 0, 13, 1000}, {3, 2, 1, 0});
      workload.parameters[2].dtype = Dtype::float64;
      for (const Outcome& outcome : run_all(ranks, workload, options, 1)) {
        for (std::size_t i = 0; i < workload.parameters.size(); ++i) {
          CHECK(outcome.averaged[i].size() ==
                static_cast<std::size_t>(workload.parameters[i].shape->front()));
          for (const double value : outcome.averaged[i])
            CHECK(value == doctest::Approx((ranks + 1) / 2.0));  // rank r holds r + 1
        }
      }
    }
  }
}

TEST_CASE("real gloo: a step's check accepts all averages, also with hooks, views and buffers") {
  Workload workload = ddpsim::testing::small_workload({1, 0, 13, 1000}, {3, 2, 1, 0});
  workload.buffers.push_back({.dtype = Dtype::float32, .bytes = Bytes(40)});
  for (const CommHook hook : {CommHook::none, CommHook::fp16_compress, CommHook::bf16_compress}) {
    for (const int ranks : {1, 2, 3, 5}) {
      ReducerOptions options;
      options.bucket_cap_mb = 0.0001;
      options.comm_hook = hook;
      options.gradient_as_bucket_view = ranks == 3;
      CHECK_NOTHROW(run_all(ranks, workload, options, 1));
    }
  }
}

TEST_CASE("real gloo: compression hooks average to the precision of 16 bits") {
  const Workload workload = ddpsim::testing::small_workload({1, 0, 13, 1000}, {3, 2, 1, 0});
  for (const CommHook hook : {CommHook::fp16_compress, CommHook::bf16_compress}) {
    for (const int ranks : {1, 2, 3}) {
      ReducerOptions options;
      options.bucket_cap_mb = 0.0001;
      options.comm_hook = hook;
      for (const Outcome& outcome : run_all(ranks, workload, options, 1))
        for (const auto& averaged : outcome.averaged)
          for (const double value : averaged)
            CHECK(value == doctest::Approx((ranks + 1) / 2.0).epsilon(0.01));
    }
  }
}

TEST_CASE("real gloo: every step has the buckets that sim assigns, with times in order") {
  ReducerOptions options;
  options.bucket_cap_mb = 0.002;
  const Workload workload =
      ddpsim::testing::small_workload({300, 300, 300, 700, 20}, {4, 3, 2, 1, 0});
  constexpr int kSteps = 3;
  const std::vector<Outcome> outcomes = run_all(2, workload, options, kSteps);
  for (const Outcome& outcome : outcomes) {
    REQUIRE(outcome.records.size() == kSteps);
    for (int step = 1; step <= kSteps; ++step) {
      const StepRecord& record = outcome.records[static_cast<std::size_t>(step - 1)];
      const std::vector<Bucket> expected =
          buckets_of_iteration(workload, options, options.torch, step);
      REQUIRE(record.buckets.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(record.buckets[i].parameters == expected[i].parameters);
        CHECK(record.buckets[i].bytes == expected[i].bytes);
        CHECK(record.buckets[i].ready <= record.buckets[i].launch_begin);
        CHECK(record.buckets[i].launch_begin <= record.buckets[i].start);
        CHECK(record.buckets[i].start <= record.buckets[i].end);
        CHECK(record.buckets[i].end <= record.buckets[i].copy_out_begin);
      }
      CHECK(record.backward_begin - record.forward_begin >= *workload.forward);
      CHECK(record.backward_end - record.forward_begin >=
            *workload.forward + workload.backward->duration);
    }
  }
}
#endif
