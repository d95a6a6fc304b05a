// FSDP2's schedule, worked out by hand (scheme_step.hpp has the numbers). Its forward is FSDP1's
// (schemes/fsdp1_test.cpp).
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

const std::string kForwardOrder =
    "\nall-gather root: 0 to 10"
    "\nall-gather layers.0: 10 to 30"
    "\nall-gather layers.1: 30 to 60"
    "\nall-gather layers.2: 60 to 100";

}  // namespace

TEST_CASE("FSDP2: all-gathers and reduce-scatters of groups of their own share the links") {
  // Layer 1 is gathered after layer 2 has been copied out, at 150, and layer 0 after layer 1, at
  // 190. At that time, layer 2's reduce-scatter begins. Both run at half speed: the all-gather's 20
  // us end at 230. Of the other's 35 us, 15 are left, until 245.
  const Step step = run(Fsdp2{.separate_groups = true});
  CHECK(on_the_wire(step) == kForwardOrder +
                                 "\nall-gather layers.2: 100 to 140"
                                 "\nall-gather layers.1: 150 to 180"
                                 "\nreduce-scatter layers.2: 190 to 245"
                                 "\nall-gather layers.0: 190 to 230"
                                 "\nreduce-scatter layers.1: 270 to 295"
                                 "\nreduce-scatter layers.0: 320 to 335"
                                 "\nreduce-scatter root: 335 to 340");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE("FSDP2: one communicator runs all-gathers and reduce-scatters in the order issued") {
  // Layer 2's reduce-scatter is issued first, so layer 0's all-gather waits for its end at 225.
  const Step step = run(Fsdp2{});
  CHECK(on_the_wire(step, 190_us) ==
        "\nreduce-scatter layers.2: 190 to 225"
        "\nall-gather layers.0: 225 to 245"
        "\nreduce-scatter layers.1: 270 to 295"
        "\nreduce-scatter layers.0: 320 to 335"
        "\nreduce-scatter root: 335 to 340");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE("FSDP2: the compute stream waits until the previous reduce-scatter has ended") {
  // Layer 2's takes 100 us, of which 20 take 40 during the all-gather, so it ends at 310. Layer 1's
  // gradient exists at 270: 40 exposed. Layer 0's exists at 360 and embed's at 370. Reduce-scatters
  // end at 375 and 380: 10 more.
  const TimeOf slow = [](CollectiveKind kind, const std::string& unit, StepPhase phase) {
    const bool its = kind == CollectiveKind::reduce_scatter && unit == "layers.2";
    return its ? 100_us : by_the_table(kind, unit, phase);
  };
  const Step step = run(Fsdp2{.separate_groups = true}, slow);
  CHECK(on_the_wire(step, 190_us) ==
        "\nreduce-scatter layers.2: 190 to 310"
        "\nall-gather layers.0: 190 to 230"
        "\nreduce-scatter layers.1: 310 to 335"
        "\nreduce-scatter layers.0: 360 to 375"
        "\nreduce-scatter root: 375 to 380");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 50, .optimizer = 10, .iteration = 390}) ==
        "");
}

TEST_CASE(
    "FSDP2: an all-gather reuses the buffer of the one before last, also after the end of "
    "forward") {
  // All-gathers take 5 us. Layer 1's waits until the root has been copied out, at 5, when it has
  // arrived. Layer 2's waits until layer 0 has been copied out, at 10. Layer 2 is copied out when
  // layer 1's compute ends, at 75. It is gathered again then, not before.
  const TimeOf fast = [](CollectiveKind, const std::string&, StepPhase) { return 5_us; };
  const Step step = run(Fsdp2{.separate_groups = true}, fast);
  CHECK(
      on_the_wire(step).starts_with("\nall-gather root: 0 to 5"
                                    "\nall-gather layers.0: 5 to 10"
                                    "\nall-gather layers.1: 10 to 15"
                                    "\nall-gather layers.2: 15 to 20"
                                    "\nall-gather layers.2: 75 to 80"));
}

TEST_CASE("FSDP2: parameters that stay gathered after forward are not gathered in backward") {
  const Step step = run(Fsdp2{.reshard_after_forward = false, .separate_groups = true});
  CHECK(on_the_wire(step) == kForwardOrder +
                                 "\nreduce-scatter layers.2: 190 to 225"
                                 "\nreduce-scatter layers.1: 270 to 295"
                                 "\nreduce-scatter layers.0: 320 to 335"
                                 "\nreduce-scatter root: 335 to 340");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 10, .optimizer = 10, .iteration = 350}) ==
        "");
}

TEST_CASE("FSDP2: a root that is resharded is gathered first in backward") {
  // It is gathered from 100 to 110 and copied out when forward's compute ends, at 130. Layer 2 is
  // gathered after that, until 170. The head's gradient exists at 150, so 20 are exposed.
  // Everything after it is 20 later.
  const Step step = run(Fsdp2{.reshard_root = true, .separate_groups = true});
  CHECK(on_the_wire(step, 100_us) ==
        "\nall-gather root: 100 to 110"
        "\nall-gather layers.2: 130 to 170"
        "\nall-gather layers.1: 170 to 200"
        "\nreduce-scatter layers.2: 210 to 265"
        "\nall-gather layers.0: 210 to 250"
        "\nreduce-scatter layers.1: 290 to 315"
        "\nreduce-scatter layers.0: 340 to 355"
        "\nreduce-scatter root: 355 to 360");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 30, .optimizer = 10, .iteration = 370}) ==
        "");
}

TEST_CASE("FSDP2: if parameters are resharded to some of the ranks, only those gather again") {
  const Step step =
      run(Fsdp2{.reshard_to = 2, .separate_groups = true}, by_the_table, 1, two_by_two());
  const Step plain = run(Fsdp2{.separate_groups = true}, by_the_table, 1, two_by_two());
  // Layer 2's part is kept after its forward, which ends at 120.
  CHECK(on_the_wire(step, 100_us).starts_with("\nall-gather layers.2: 120 to 160"));
  REQUIRE(step.collectives.size() == plain.collectives.size());
  for (std::size_t i = 0; i < step.planned.collectives.size(); ++i) {
    const StepCollective& one = step.planned.collectives[i];
    const bool again =
        one.scheduled.kind == CollectiveKind::all_gather && one.phase == StepPhase::backward;
    // The all-gather within nodes shares links with a reduce-scatter of all ranks, which uses both
    // kinds.
    CHECK(one.scheduled.links == (again ? kInsideNodes : kAllLinks));
    CHECK(one.scheduled.size == plain.planned.collectives[i].scheduled.size);
  }
  // Another group has another communicator, so it does not wait for a reduce-scatter of all ranks.
  const Step by_default = run(Fsdp2{.reshard_to = 2}, by_the_table, 1, two_by_two());
  CHECK(on_the_wire(by_default) == on_the_wire(step));
  // The optimizer steps a quarter.
  CHECK(step.times.optimizer == 5_us);
}

TEST_CASE(
    "FSDP2: the part that some ranks keep is copied out after forward and in before backward") {
  // Copies take a picosecond a byte and 1 us a kernel. Each of two ranks keeps 2 MB of layers of 4
  // MB, so 5 us of compute follow each of the three layers. All four ranks' 4 MB are copied out in
  // 9 us (the root's in 17).
  SimulationOptions costs = options(Fsdp2{.reshard_to = 2, .separate_groups = true});
  costs.costs.copy_kernel = 1_us;
  costs.costs.copy_rate = 1000_GBps;
  const TimeOf nothing = [](CollectiveKind, const std::string&, StepPhase) { return Duration(); };
  const auto forward_of = [&](const Scheme& scheme) {
    SimulationOptions asked = costs;
    asked.scheme = scheme;
    return schemes::run(Job(layered(), two_by_two(), asked, FreeModel{}), nothing).times.forward;
  };
  CHECK(forward_of(Fsdp2{.reshard_to = 2, .separate_groups = true}) ==
        100_us + 17_us + 3 * 9_us + 3 * 5_us);
  CHECK(forward_of(Fsdp2{.separate_groups = true}) == 100_us + 17_us + 3 * 9_us);
  CHECK(forward_of(Fsdp2{.reshard_to = 4, .separate_groups = true}) ==
        forward_of(Fsdp2{.separate_groups = true}));  // all ranks
  // Layer 2's part is kept when its forward is over, even if its all-gather could begin earlier.
  const TimeOf fast = [](CollectiveKind, const std::string&, StepPhase) { return 5_us; };
  const Step step =
      schemes::run(Job(layered(), two_by_two(),
                       options(Fsdp2{.reshard_to = 2, .separate_groups = true}), FreeModel{}),
                   fast);
  CHECK(on_the_wire(step, 20_us).starts_with("\nall-gather layers.2: 95 to 100"));
}

TEST_CASE("FSDP2: on a mesh of two dimensions shards are all-reduced between nodes") {
  // They run in parallel with everything else, over other links. Layer 2's runs from 245 to 281,
  // layer 1's from 295 to 321, layer 0's from 335 to 351, and the root's until 357.
  const Step step = run(Fsdp2{.group = 2, .separate_groups = true}, by_the_table, 1, two_by_two());
  CHECK(on_the_wire(step, 190_us) ==
        "\nreduce-scatter layers.2: 190 to 245"
        "\nall-reduce layers.2: 245 to 281"
        "\nall-gather layers.0: 190 to 230"
        "\nreduce-scatter layers.1: 270 to 295"
        "\nall-reduce layers.1: 295 to 321"
        "\nreduce-scatter layers.0: 320 to 335"
        "\nall-reduce layers.0: 335 to 351"
        "\nreduce-scatter root: 335 to 340"
        "\nall-reduce root: 351 to 357");
  CHECK(differences(
            step,
            {.exposed_forward = 30, .exposed_backward = 27, .optimizer = 10, .iteration = 367}) ==
        "");
}

TEST_CASE("FSDP2: micro-batches without gradient synchronisation gather as usual, reduce nothing") {
  // Nothing shares links in the first one: layer 0 is gathered from 190 to 210.
  const Step step = run(Fsdp2{.separate_groups = true}, by_the_table, 2);
  CHECK(on_the_wire(step).starts_with(kForwardOrder + "\nall-gather layers.2: 100 to 140"
                                                      "\nall-gather layers.1: 150 to 180"
                                                      "\nall-gather layers.0: 190 to 210"
                                                      "\nall-gather root: 330 to 340"));
  CHECK(step.collectives.size() == 7 + 11);
  CHECK(differences(
            step,
            {.exposed_forward = 60, .exposed_backward = 10, .optimizer = 10, .iteration = 680},
            2) == "");
  const Step reduced = run(Fsdp2{.separate_groups = true, .no_sync = false}, by_the_table, 2);
  CHECK(reduced.collectives.size() == 11 + 11);
  CHECK(differences(
            reduced,
            {.exposed_forward = 60, .exposed_backward = 20, .optimizer = 10, .iteration = 690},
            2) == "");
}

TEST_CASE("FSDP2: a group that only the input reaches is reduced after the root") {
  // Without an embedding, layer 0 gets its gradient last, and nothing follows it: backward ends at
  // 320.
  Workload step = layered();
  step.parameters.erase(step.parameters.begin());
  step.backward->ready.pop_back();
  for (ReadyEvent& event : step.backward->ready) --event.parameter;
  const Step run =
      schemes::run(Job(step, small::node(2), options(Fsdp2{.separate_groups = true}), FreeModel{}),
                   by_the_table);
  REQUIRE(run.collectives.size() == 11);
  CHECK(run.collectives[9].unit == "root");
  CHECK(run.collectives[10].unit == "layers.0");
  CHECK(run.collectives[10].kind == CollectiveKind::reduce_scatter);
  CHECK(run.collectives[9].ready >= run.collectives[8].end);
}
