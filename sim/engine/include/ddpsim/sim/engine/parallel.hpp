// Runs independent computations on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Number of threads that an option means. 0 means the number of hardware threads.
inline int threads_for(int wanted) {
  return wanted > 0 ? wanted : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Calls body(i) for every i below `count`. Uses at most `threads` threads (0: the number of
/// hardware threads), each with at least `least_each` calls. Results are stored by index, so they
/// do not depend on the number of threads.
template <typename Body>
void for_each_index(std::size_t count, int threads, std::size_t least_each, Body body) {
  const std::size_t used = std::min(static_cast<std::size_t>(threads_for(threads)),
                                    std::max<std::size_t>(1, count / least_each));
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> workers;
  for (std::size_t t = 1; t < used; ++t) workers.emplace_back(run);
  run();
}

/// Calls `body` with each index below `count`, on several threads, and reports to `progress` after
/// each call.
template <typename Body>
void for_each_index(std::size_t count, int threads, std::size_t least_each, Progress* progress,
                    Body body) {
  std::mutex mutex;
  std::size_t done = 0;
  for_each_index(count, threads, least_each, [&](std::size_t i) {
    body(i);
    if (progress == nullptr) return;
    const std::lock_guard lock(mutex);
    progress->go_on(++done, count);
  });
}

}  // namespace ddpsim
