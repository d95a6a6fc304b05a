// Several ranks in one process over gloo. Jobs with one GPU for each thread run the same way.
#ifdef DDPSIM_WITH_GLOO
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <future>

#include "fake_world.hpp"
#include "patience.hpp"
#include "rank_threads.hpp"
#include "store.hpp"

using namespace ddpsim;
using ddpsim::testing::patient;
using namespace std::chrono_literals;

namespace {

Sweep small_sweep() {
  Sweep sweep;
  sweep.workload = ddpsim::testing::small_workload({300, 1, 7000, 20}, {3, 2, 1, 0});
  sweep.backend = "cpu-gloo";
  ReducerOptions options;
  options.bucket_cap_mb = 0.01;
  sweep.configurations = {{"plain", options}};
  options.comm_hook = CommHook::fp16_compress;
  sweep.configurations.push_back({"hooked", options});
  sweep.all_reduce_sizes = {Bytes(4096)};
  sweep.all_reduce_repetitions = 3;
  sweep.iterations = 3;
  sweep.timeout = patient(20s);
  return sweep;
}

/// The given number of processes, all on this host.
std::vector<World> processes(int count) {
  const Listening listening = listen_on("127.0.0.1", 0);
  std::vector<World> worlds;
  for (int rank = 0; rank < count; ++rank)
    worlds.push_back({.rank = rank,
                      .ranks = count,
                      .local_rank = rank,
                      .port = listening.port,
                      .listening = rank == 0 ? listening.sockets.front() : -1});
  return worlds;
}

}  // namespace

TEST_CASE("real threads: ranks of a process are consecutive, and only rank 0 listens") {
  const World process{.rank = 2, .ranks = 4, .local_rank = 1, .listening = 7};
  const std::vector<World> ranks = ranks_of_process(process, 3);
  REQUIRE(ranks.size() == 3);
  CHECK(ranks[0].rank == 6);
  CHECK(ranks[2].rank == 8);
  CHECK(ranks[2].ranks == 12);
  CHECK(ranks[1].local_rank == 4);
  CHECK(ranks[0].listening == -1);
  CHECK(ranks[1].ranks_of_process == 3);
  CHECK(ranks[1].index_in_process == 1);
  CHECK(name_of_ranks(ranks) == "ranks 6 to 8");
  CHECK(name_of_ranks(ranks_of_process(process, 1)) == "rank 2");
  CHECK(ranks_of_process({.ranks = 2, .listening = 7}, 2)[0].listening == 7);
}

TEST_CASE("real threads: one process of three ranks, or several processes, give one measurement") {
  const auto check = [](const Measurement& measured, int ranks) {
    CHECK(measured.ranks == ranks);
    REQUIRE(measured.configurations.size() == 2);
    CHECK(measured.configurations[0].iterations_us.size() == 3);
    CHECK(measured.all_reduces.size() == 1);
  };
  check(run_threads(small_sweep(), ranks_of_process(processes(1)[0], 3)), 3);

  const std::vector<World> both = processes(2);
  auto other = std::async(std::launch::async,
                          [&] { return run_threads(small_sweep(), ranks_of_process(both[1], 2)); });
  check(run_threads(small_sweep(), ranks_of_process(both[0], 2)), 4);
  CHECK(other.get().configurations.empty());  // only rank 0 has the results
}

TEST_CASE("real threads: if one rank fails, all end with its reason") {
  std::vector<World> ranks = ranks_of_process(processes(1)[0], 3);
  ranks[1].ranks = 4;
  Sweep sweep = small_sweep();
  // A rank that arrives after the others have left searches for them this long.
  sweep.timeout = patient(2s);
  try {
    run_threads(sweep, ranks);
    FAIL("should have failed");
  } catch (const RankFailed& failed) {
    CHECK(std::string(failed.what()).find("rank 1 was told of 4 ranks") != std::string::npos);
    CHECK(failed.all_ended());
  }
}

TEST_CASE("real threads: a failure reports a rank that cannot be ended in time") {
  std::vector<World> ranks = ranks_of_process(processes(1)[0], 3);
  ranks[1].ranks = 4;                                // makes the rank fail at once
  const Listening mute = listen_on("127.0.0.1", 0);  // accepts connections but never answers
  ranks[2].port = mute.port;
  Sweep sweep = small_sweep();
  sweep.timeout = patient(2s);
  try {
    run_threads(sweep, ranks, 50ms);
    FAIL("should have failed");
  } catch (const RankFailed& failed) {
    CHECK(std::string(failed.what()).find("rank 1 was told of 4 ranks") != std::string::npos);
    CHECK_FALSE(failed.all_ended());
  }
  close_all(mute);  // The abandoned thread ends within the time-out.
}

TEST_CASE("real threads: names a missing rank within the time-out") {
  std::vector<World> ranks = ranks_of_process(processes(1)[0], 3);
  ranks.pop_back();
  Sweep sweep = small_sweep();
  const auto timeout = patient(2s);
  sweep.timeout = timeout;
  CHECK_THROWS_WITH(
      run_threads(sweep, ranks),
      fmt::format("after {} s 2 of 3 ranks were there; missing: 2", timeout.count()).c_str());
}
#endif
