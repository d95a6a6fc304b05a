// Measures how many events per second pass through the queue, by the number of pending events.
#include "ddpsim/sim/engine/event_queue.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

namespace ddpsim {
namespace {

/// Distribution of the delay of a new event, in picoseconds.
enum class Delay { uniform, bimodal, four_fixed };

struct Generator {
  std::uint64_t state = 88172645463325252;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  Duration delay(Delay kind) {
    const std::uint64_t random = next();
    std::uint64_t ps = 0;
    switch (kind) {
      case Delay::uniform:
        ps = 1 + random % 1'000'000;
        break;
      case Delay::bimodal:  // 15 of 16 are short
        ps = 1 + (random >> 4) % (random % 16 != 0 ? 1'000 : 1'000'000);
        break;
      // As in a simulation with few different delays.
      case Delay::four_fixed:
        ps = 5'000 + (random & 3) * 2'500;
        break;
    }
    return Duration::picoseconds(static_cast<std::int64_t>(ps));
  }
};

/// The hold model: the number of pending events stays the same. In each round, the earliest event
/// leaves and a later one joins.
void BM_EventQueue_Hold(benchmark::State& state, Delay kind) {
  Generator generator;
  EventQueue<std::uint64_t> queue;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    queue.push(TimePoint(generator.delay(Delay::uniform)), 0);
  for (auto _ : state) {
    const auto [time, payload] = queue.pop();
    queue.push(time + generator.delay(kind), payload);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_EventQueue_Hold, uniform, Delay::uniform)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000);
BENCHMARK_CAPTURE(BM_EventQueue_Hold, bimodal, Delay::bimodal)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000);
BENCHMARK_CAPTURE(BM_EventQueue_Hold, four_fixed, Delay::four_fixed)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000);

}  // namespace
}  // namespace ddpsim
