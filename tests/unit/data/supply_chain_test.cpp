// A DataLoader's chain, batch by batch, compared with times worked out by hand. All times in
// comments are in us.
#include "supply_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Waits of the first steps of an epoch.
std::vector<Duration> waits_of(const SupplySetting& setting, Duration step, int steps) {
  SupplyChain chain(setting);
  std::vector<Duration> waits;
  for (int k = 0; k < steps; ++k) waits.push_back(chain.next(step).wait);
  return waits;
}

SupplySetting decoding(int workers, int prefetch, Duration decode) {
  return {.workers = workers, .prefetch = prefetch, .decode = decode};
}

}  // namespace

TEST_CASE("supply chain: a trainer that loads by itself waits for the whole loading time") {
  CHECK(waits_of(decoding(0, 2, 30_us), 50_us, 3) == std::vector{30_us, 30_us, 30_us});
}

TEST_CASE("supply chain: one worker is a step ahead, and the slower of the two sets the pace") {
  // Batches arrive at 80, 160 and 240; steps run from 80 to 130, 160 to 210, 240 to 290.
  CHECK(waits_of(decoding(1, 2, 80_us), 50_us, 3) == std::vector{80_us, 30_us, 30_us});
  CHECK(waits_of(decoding(1, 1, 80_us), 50_us, 3) == std::vector{80_us, 30_us, 30_us});
  CHECK(waits_of(decoding(1, 2, 40_us), 50_us, 3) == std::vector{40_us, 0_us, 0_us});
}

TEST_CASE(
    "supply chain: two workers without prefetched batches start again when a batch is taken") {
  // Batches 0 and 1 arrive at 120. Batch 0 is taken then, so 2 arrives at 240. Batch 1 is taken at
  // 170, so 3 arrives at 290; 2 is taken at 240, so 4 arrives at 360.
  CHECK(waits_of(decoding(2, 1, 120_us), 50_us, 5) ==
        std::vector{120_us, 0_us, 20_us, 0_us, 20_us});
  CHECK(steady_stall(decoding(2, 1, 120_us), 50_us).wait == 10_us);  // 60 per step: 120 / 2
}

TEST_CASE("supply chain: batches are pinned one by one and copied before the step") {
  SupplySetting setting = decoding(1, 2, 20_us);
  setting.pin = 70_us;
  setting.copy = 10_us;
  // Batches are loaded at 20 and 40 and pinned at 90 and 160. The third is begun at 90 and pinned
  // at 230. Steps begin after the copy: 100, 170, 240.
  SupplyChain chain(setting);
  CHECK(chain.next(50_us) == SupplyChain::Stall{90_us, 10_us});
  CHECK(chain.next(50_us) == SupplyChain::Stall{10_us, 10_us});
  CHECK(chain.next(50_us) == SupplyChain::Stall{10_us, 10_us});
}

TEST_CASE("supply chain: workers share storage and cores") {
  SupplySetting setting = decoding(2, 1, 30_us);
  setting.read = 10_us;
  // Reading is a quarter of the time, so two workers use half of the storage.
  CHECK(waits_of(setting, 1_us, 1).front() == 40_us);
  setting.read = 60_us;
  // Two batches of 60 are read one after the other, while decoding overlaps.
  CHECK(waits_of(setting, 1_us, 1).front() == 120_us);
  setting = decoding(4, 1, 40_us);
  setting.cores = {.of_node = 2, .ranks = 1};
  CHECK(waits_of(setting, 1_us, 1).front() == 80_us);
  setting.cores = {.of_node = 8, .ranks = 2};
  CHECK(waits_of(setting, 1_us, 1).front() == 40_us);
}

TEST_CASE("supply chain: a host that is ahead hides what its own thread loads") {
  SupplySetting setting = decoding(0, 2, 30_us);
  setting.steps_ahead = 1;
  setting.blocking_copy = false;
  setting.host_step = 10_us;
  CHECK(waits_of(setting, 50_us, 3) == std::vector{30_us, 0_us, 0_us});
  CHECK(waits_of(setting, 35_us, 3) ==
        std::vector{30_us, 5_us, 5_us});  // 30 + 10 per step on its thread
  setting.copy = 20_us;
  // The next batch is not asked for before the step has begun.
  setting.blocking_copy = true;
  SupplyChain chain(setting);
  // The copy runs from 30 to 50 and compute from 50 to 85. The host continues at 60 and has the
  // next batch at 90.
  chain.next(35_us);
  CHECK(chain.next(35_us) == SupplyChain::Stall{5_us, 20_us});
}

TEST_CASE("supply chain: in the steady state the slower of workers and step sets the pace") {
  for (const int workers : {1, 2, 3, 4, 7, 16})
    for (const int prefetch : {1, 2, 5})
      for (const int batch : {10, 35, 70, 200, 840}) {
        CAPTURE(workers);
        CAPTURE(prefetch);
        CAPTURE(batch);
        const Duration load = Duration::microseconds(batch);
        const Duration step = 30_us;
        const Duration each = Duration::picoseconds(load.picoseconds() / workers);
        const Duration wait = steady_stall(decoding(workers, prefetch, load), step).wait;
        CHECK(std::max(wait - std::max(each - step, 0_us), std::max(each - step, 0_us) - wait) <=
              1_ps);
      }
}

TEST_CASE("supply chain: more workers, cores, storage or prefetching never make it slower") {
  std::uint64_t state = 7;
  const auto draw = [&](int below) {  // a small congruential generator
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (int world = 0; world < 60; ++world) {
    SupplySetting setting =
        decoding(1 + draw(6), 1 + draw(3), Duration::microseconds(1 + draw(90)));
    setting.read = Duration::microseconds(draw(40));
    if (draw(2) == 1) setting.cores = {.of_node = 1 + draw(8), .ranks = 1 + draw(4)};
    if (draw(2) == 1) setting.pin = Duration::microseconds(draw(30));
    const Duration step = Duration::microseconds(1 + draw(60));
    const Duration wait = steady_stall(setting, step).wait;
    CAPTURE(world);
    const auto no_longer = [&](SupplySetting better) {
      // Rounding shares up adds some picoseconds.
      return steady_stall(better, step).wait <= wait + Duration::picoseconds(64);
    };
    SupplySetting more = setting;
    ++more.prefetch;
    CHECK(no_longer(more));
    more = setting;
    more.read = more.read.scaled(0.5);
    CHECK(no_longer(more));
    more = setting;
    if (more.cores) ++more.cores->of_node;
    CHECK(no_longer(more));
    more = setting;
    more.workers *= 2;
    CHECK(no_longer(more));
  }
}
