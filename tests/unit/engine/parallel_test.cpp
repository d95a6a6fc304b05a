#include "ddpsim/sim/engine/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace ddpsim;

TEST_CASE("parallel: every index is processed once, for any number of threads") {
  for (const std::size_t count : {0U, 1U, 7U, 100U})
    for (const int threads : {0, 1, 2, 16})
      for (const std::size_t least_each : {1U, 8U, 1000U}) {
        CAPTURE(count);
        CAPTURE(threads);
        CAPTURE(least_each);
        std::vector<std::atomic<int>> visits(count);
        for_each_index(count, threads, least_each, [&](std::size_t i) { ++visits[i]; });
        for (const std::atomic<int>& visit : visits) CHECK(visit == 1);
      }
}

TEST_CASE("parallel: too few calls for two threads run on the caller's thread") {
  for (const auto& [count, threads, least_each] :
       {std::tuple(15U, 4, 8U), std::tuple(1U, 4, 1U), std::tuple(100U, 1, 1U)}) {
    std::atomic<int> elsewhere = 0;
    const std::thread::id here = std::this_thread::get_id();
    for_each_index(count, threads, least_each, [&](std::size_t) {
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
    CHECK(elsewhere == 0);
  }
}

TEST_CASE("parallel: the number of threads is as asked for, by default the hardware's") {
  CHECK(threads_for(1) == 1);
  CHECK(threads_for(3) == 3);
  CHECK(threads_for(0) >= 1);
  CHECK(threads_for(0) == threads_for(-1));
}
