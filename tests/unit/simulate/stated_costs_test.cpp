// Costs of DDP that a file states. They replace those of other hosts and GPUs.
#include "ddpsim/sim/values/ddp_costs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "small_jobs.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

StatedCost stated(std::span<const CostField> fields, std::string_view name, double value) {
  const auto field = std::ranges::find(fields, name, &CostField::name);
  REQUIRE(field != fields.end());
  return {.field = &*field, .value = value};
}

}  // namespace

TEST_CASE("stated costs: each one sets the cost of its name and no other") {
  DdpCosts costs;
  state(costs, {stated(host_costs(), "collective_us", 33), stated(gpu_costs(), "copy_us", 2.5),
                stated(gpu_costs(), "copy_gbps", 600)});
  CHECK(costs.host_launch == 33_us);
  CHECK(costs.copy_kernel == 2.5_us);
  CHECK(costs.copy_rate == Bandwidth::gigabytes_per_second(600));
  CHECK(costs.host_copy_kernel == DdpCosts().host_copy_kernel);
  // Every field has one of the two, and its name is unique within its file.
  for (const auto fields : {host_costs(), gpu_costs()})
    for (const CostField& field : fields) {
      CHECK((field.time != nullptr) != (field.rate != nullptr));
      CHECK(std::ranges::count(fields, field.name, &CostField::name) == 1);
    }
}

TEST_CASE("stated costs: measured costs do not vary, others do") {
  SimulationOptions options;
  options.stated_costs = {stated(host_costs(), "hook_us", 4), stated(gpu_costs(), "gap_us", 0.5)};
  state(options.costs, options.stated_costs);
  const Job job(small::chain({{1 << 20, 100}}, 100, 200), small::node(8), options, FreeModel{});
  const std::vector<std::string> because = assess(job, simulate_times(job), std::nullopt).because;
  CHECK(std::ranges::count(because,
                           "DDP costs as stated: hook_us 4 (host/costs of the workload); gap_us "
                           "0.5 (gpu_costs of the cluster)") == 1);
  int varied = 0;
  for (const Scenario& scenario : scenarios(job)) {
    if (scenario.source != ErrorSource::ddp_costs) continue;
    for (const Job& bound : {scenario.at_one, scenario.at_other}) {
      CHECK(bound.options().costs.host_hook == 4_us);
      CHECK(bound.options().costs.kernel_gap == 0.5_us);
      CHECK(bound.options().costs.host_launch != options.costs.host_launch);
      ++varied;
    }
  }
  CHECK(varied == 2);
}

TEST_CASE("stated costs: a cluster file states those of its GPU") {
  const auto cluster_with = [](const std::string& costs) {
    return parse_cluster(
        R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpus": 1, "gpu": "V100"},
                             "gpu_costs": )" +
            costs + "}",
        "lab.json");
  };
  CHECK(
      cluster_with(R"({"copy_us": 1.5, "event_latency_us": 2})").gpu_costs ==
      StatedCosts{stated(gpu_costs(), "copy_us", 1.5), stated(gpu_costs(), "event_latency_us", 2)});
  for (const auto& [costs, complaint] : {std::pair{R"({"copy_gbps": 0})", "/gpu_costs/copy_gbps"},
                                         {R"({"copies_us": 1})", "Did you mean \"copy_us\"?"}}) {
    std::string said;
    try {
      cluster_with(costs);
    } catch (const InputError& error) {
      said = error.what();
    }
    CHECK(said.find(complaint) != std::string::npos);
  }
}
