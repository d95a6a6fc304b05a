#include "ddpsim/sim/values/cost_constants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace ddpsim;

TEST_CASE("cost constants: every row is for a different value, with a unit and a meaning") {
  PathConstants constants;
  std::set<double*> values;
  for (const CostConstant& row : cost_constants()) {
    CAPTURE(std::string(row.name) + " " + std::string(row.element));
    CHECK(values.insert(&row.of(constants)).second);
    CHECK_FALSE(row.unit.empty());
    CHECK_FALSE(row.meaning.empty());
    CHECK(row.range.least < row.range.most);
    CHECK(row.prior.deviation >= 0);
    if (row.prior.deviation > 0) CHECK(row.prior.most > row.range.least);
  }
  CHECK(values.size() * sizeof(double) == sizeof(PathConstants));
}

TEST_CASE(
    "cost constants: elements of one array are next to each other, in NCCL's order of protocols") {
  const auto begins = [](std::string_view name) {
    const auto row = std::ranges::find(cost_constants(), name, &CostConstant::name);
    return static_cast<std::size_t>(row - cost_constants().begin());
  };
  PathConstants constants;
  for (const auto& [key, array] : {std::pair{"start_us", &constants.start_us},
                                   {"local_us", &constants.local_us},
                                   {"hop_us", &constants.hop_us}}) {
    // A capture must not name a structured binding (clang 14).
    const char* const name = key;
    CAPTURE(name);
    const std::size_t first = begins(name);
    constexpr const char* kProtocolNames[] = {"LL", "LL128", "Simple"};
    for (std::size_t i = 0; i < 3; ++i) {
      const CostConstant& row = cost_constants()[first + i];
      CHECK(row.name == name);
      CHECK(row.element == kProtocolNames[i]);
      CHECK(&row.of(constants) == &(*array)[i]);
    }
  }
}

TEST_CASE("cost constants: allowed values in a cluster file, and what a fit expects of each kind") {
  const auto row = [](std::string_view name) -> const CostConstant& {
    return *std::ranges::find(cost_constants(), name, &CostConstant::name);
  };
  CHECK(row("launch_us").range.most == 1e6);
  CHECK_FALSE(row("launch_us").range.positive);
  for (const char* share : {"local_share", "nic_share", "nvls_share", "tree_share", "ll_share",
                            "single_gpu_per_node"}) {
    CAPTURE(share);
    CHECK(row(share).range.most == 1);
    CHECK(row(share).range.positive);
  }
  CHECK_FALSE(row("ring_ends").range.positive);  // it may be zero
  CHECK(row("ll_gbps").range.positive);
  CHECK(row("overlap").range.least == 1);
  CHECK(row("channel_us").prior.deviation == 0);  // logs cannot separate it from hop_us
  CHECK(row("start_us").prior.deviation == 0);    // LL has no handshake
  CHECK(row("hop_growth").prior.additive);
  CHECK_FALSE(row("hop_us").prior.additive);
  CHECK_FALSE(row("hop_growth").required);
  CHECK(row("hop_us").required);
}
