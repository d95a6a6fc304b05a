// Independent points on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Threads meant by an option in which 0 stands for as many as the machine has.
inline int threads_for(int wanted) {
  return wanted > 0 ? wanted : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Calls body(i) for every i below `count`, on at most `threads` threads (0: as many as the machine
/// has) with `least_each` points each. Results are stored by index, so the number of threads shows
/// nowhere.
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

/// The same, watched: whoever listens is told of every point that is done.
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
