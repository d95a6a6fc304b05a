// What frozen parameters leave of an estimate's backward.
#include "ddpsim/models/frozen.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "complaint.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

Workload with_frozen(const std::string& patterns) {
  const std::string text =
      "gpt2@A100:b2:s128:fp32" + (patterns.empty() ? "" : ":frozen=" + patterns);
  return estimate_workload(parse_estimate_spec(text), find_gpu("A100").value());
}

std::size_t count_frozen(const Workload& workload) {
  return static_cast<std::size_t>(std::ranges::count_if(workload.parameters, &Parameter::frozen));
}

}  // namespace

TEST_CASE("frozen estimates: gradients, optimizer and backward are of what trains") {
  const Workload whole = with_frozen("");
  const Workload head = with_frozen("transformer.wte+transformer.wpe+transformer.h.*");
  CHECK(count_frozen(head) == head.parameters.size() - 2);  // ln_f
  CHECK(head.backward->ready.size() == 2);
  CHECK(*head.forward == *whole.forward);
  // Loss, output layer's data gradient and the last norm: of blocks nothing.
  CHECK(head.backward->duration < whole.backward->duration.scaled(0.5));
  CHECK(*head.optimizer < whole.optimizer->scaled(0.1));
  CHECK(head.activations->bytes < whole.activations->bytes);
  CHECK(head.activations->held.size() == 4);
  for (const Parameter& parameter : head.parameters) {
    REQUIRE(parameter.module_time);
    const bool block = parameter.name.starts_with("transformer.h.");
    if (block) CHECK(!parameter.module_time->backward);
  }
}

TEST_CASE(
    "frozen estimates: behind something that trains a layer's input gradient is computed, its "
    "weight's is not") {
  const Workload whole = with_frozen("");
  const Workload part = with_frozen("transformer.h.*");
  // Each product is run twice in backward: of blocks one stays.
  CHECK(part.backward->duration < whole.backward->duration.scaled(0.9));
  CHECK(part.backward->duration > whole.backward->duration.scaled(0.5));
  CHECK(part.backward->ready.size() == 4);
  for (const Parameter& parameter : part.parameters) {
    REQUIRE(parameter.module_time);
    CHECK(parameter.module_time->backward);
  }
  // Launches are counted up to each gradient that is left.
  CHECK(part.launches->backward.size() == 4);
  CHECK(part.launches->of_backward() < whole.launches->of_backward());
}

TEST_CASE("frozen estimates: names that nothing has, and nothing left to train, are refused") {
  CHECK(complaint_of([] {
          with_frozen("transformer.q");
        }).find("no module or parameter is called so") != std::string::npos);
  CHECK(complaint_of([] { with_frozen("transformer"); }).find("nothing to train") !=
        std::string::npos);
  CHECK(complaint_of([] { with_frozen("a++b"); }).find("names nothing to freeze") !=
        std::string::npos);
}
