// A DataLoader's chain, batch by batch, against instants worked out by hand.
#include "supply_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// What the first of an epoch's steps wait.
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

TEST_CASE("supply chain: a trainer that loads by itself waits for all of it") {
  CHECK(waits_of(decoding(0, 2, 30_us), 50_us, 3) == std::vector{30_us, 30_us, 30_us});
}

TEST_CASE("supply chain: one worker is a step ahead, and the slower sets the pace") {
  // Batches come at 80, 160 and 240; steps run 80 to 130, 160 to 210, 240 to 290.
  CHECK(waits_of(decoding(1, 2, 80_us), 50_us, 3) == std::vector{80_us, 30_us, 30_us});
  CHECK(waits_of(decoding(1, 1, 80_us), 50_us, 3) == std::vector{80_us, 30_us, 30_us});
  CHECK(waits_of(decoding(1, 2, 40_us), 50_us, 3) == std::vector{40_us, 0_us, 0_us});
}

TEST_CASE("supply chain: two workers without anything in hand begin again when a batch is taken") {
  // 0 and 1 come at 120. 0 is taken then, so 2 comes at 240; 1 at 170, so 3 at 290; 2 at 240, so 4 at 360.
  CHECK(waits_of(decoding(2, 1, 120_us), 50_us, 5) ==
        std::vector{120_us, 0_us, 20_us, 0_us, 20_us});
  CHECK(steady_stall(decoding(2, 1, 120_us), 50_us).wait == 10_us);  // 60 a step: 120 over 2
}

TEST_CASE("supply chain: batches are pinned one by one, and copied in front of the step") {
  SupplySetting setting = decoding(1, 2, 20_us);
  setting.pin = 70_us;
  setting.copy = 10_us;
  // Loaded at 20 and 40, pinned at 90 and 160, the third, begun at 90, at 230. Steps begin behind the copy: 100, 170, 240.
  SupplyChain chain(setting);
  CHECK(chain.next(50_us) == SupplyChain::Stall{90_us, 10_us});
  CHECK(chain.next(50_us) == SupplyChain::Stall{10_us, 10_us});
  CHECK(chain.next(50_us) == SupplyChain::Stall{10_us, 10_us});
}

TEST_CASE("supply chain: workers share storage and cores") {
  SupplySetting setting = decoding(2, 1, 30_us);
  setting.read = 10_us;
  CHECK(waits_of(setting, 1_us, 1).front() ==
        40_us);  // reading is a quarter of it: two fill half of the storage
  setting.read = 60_us;
  CHECK(waits_of(setting, 1_us, 1).front() ==
        120_us);  // two of 60 to read, while the other decodes
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
        std::vector{30_us, 5_us, 5_us});  // 30 and 10 a step of its thread
  setting.copy = 20_us;
  setting.blocking_copy = true;  // the next batch is not asked for before the step has begun
  SupplyChain chain(setting);
  chain.next(
      35_us);  // 30 to 50 copied, 50 to 85 computed; the host goes on at 60 and has the next at 90
  CHECK(chain.next(35_us) == SupplyChain::Stall{5_us, 20_us});
}

TEST_CASE("supply chain: in the steady state a step is what the slower gives") {
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

TEST_CASE("supply chain: more workers, cores, storage or prefetching give no less") {
  std::uint64_t state = 7;
  const auto draw = [&](int below) {  // of a small congruential generator
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
      // Rounding shares up costs some picoseconds.
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
