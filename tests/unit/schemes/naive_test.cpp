// All-reduces of single gradients, worked out by hand (scheme_step.hpp has the numbers): backward
// runs from 100 to 300.
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

TEST_CASE("naive: a hook for each gradient all-reduces it as soon as it is written") {
  const Step step = run(NaiveAllReduce{});
  CHECK(on_the_wire(step) ==
        "\nall-reduce head.weight: 120 to 125"
        "\nall-reduce layers.2.linear.weight: 160 to 196"
        "\nall-reduce layers.1.linear.weight: 240 to 266"
        "\nall-reduce layers.0.linear.weight: 290 to 306"
        "\nall-reduce embed.weight: 306 to 312");
  CHECK(differences(
            step,
            {.exposed_forward = 0, .exposed_backward = 12, .optimizer = 20, .iteration = 332}) ==
        "");
}

TEST_CASE("naive: after backward, all-reduces follow each other in the order of definition") {
  // They take 6 + 16 + 26 + 36 + 5 us.
  const Step step = run(NaiveAllReduce{.when = NaiveAllReduce::When::backward});
  CHECK(on_the_wire(step) ==
        "\nall-reduce embed.weight: 300 to 306"
        "\nall-reduce layers.0.linear.weight: 306 to 322"
        "\nall-reduce layers.1.linear.weight: 322 to 348"
        "\nall-reduce layers.2.linear.weight: 348 to 384"
        "\nall-reduce head.weight: 384 to 389");
  CHECK(differences(
            step,
            {.exposed_forward = 0, .exposed_backward = 89, .optimizer = 20, .iteration = 409}) ==
        "");
}

TEST_CASE("naive: all gradients in one tensor are one all-reduce, whenever they are sent") {
  for (const auto when : {NaiveAllReduce::When::backward, NaiveAllReduce::When::gradient}) {
    const Step step = run(NaiveAllReduce{.when = when, .flat = true});
    CHECK(on_the_wire(step) == "\nall-reduce all gradients: 300 to 370");
    CHECK(step.collectives.front().bytes == 20'000'000_B);
    CHECK(differences(
              step,
              {.exposed_forward = 0, .exposed_backward = 70, .optimizer = 20, .iteration = 390}) ==
          "");
  }
}

TEST_CASE("naive: only the last micro-batch is all-reduced") {
  const Step step = run(NaiveAllReduce{}, by_the_table, 3);
  CHECK(step.collectives.size() == 5);
  CHECK(on_the_wire(step).starts_with("\nall-reduce head.weight: 720 to 725"));
  CHECK(differences(
            step, {.exposed_forward = 0, .exposed_backward = 12, .optimizer = 20, .iteration = 932},
            3) == "");
}

TEST_CASE("naive: ignored parameters are not all-reduced") {
  Workload step = layered();
  step.parameters[2].ignored = true;
  for (const NaiveAllReduce& scheme :
       {NaiveAllReduce{}, NaiveAllReduce{.when = NaiveAllReduce::When::backward},
        NaiveAllReduce{.flat = true}}) {
    const Step run = schemes::run(Job(step, small::node(2), options(scheme), FreeModel{}));
    CHECK(run.collectives.size() == (scheme.flat ? 1 : 4));
    Bytes sent;
    for (const CollectiveResult& one : run.collectives) sent += one.bytes;
    CHECK(sent == 16'000'000_B);
  }
}
