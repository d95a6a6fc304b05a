#include "ddpsim/topologies/cluster_sizes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"

using namespace ddpsim;

TEST_CASE("cluster sizes: a range multiplies or counts, and ends where its steps reach") {
  using Texts = std::vector<std::string>;
  CHECK(cluster_sizes("dgx1v@1..16*2") ==
        Texts{"dgx1v@1", "dgx1v@2", "dgx1v@4", "dgx1v@8", "dgx1v@16"});
  CHECK(cluster_sizes("dgx1v@3..20*3") == Texts{"dgx1v@3", "dgx1v@9"});
  CHECK(cluster_sizes("dgx1v@2..4") == Texts{"dgx1v@2", "dgx1v@3", "dgx1v@4"});
  CHECK(cluster_sizes("dgx1v@5..5") == Texts{"dgx1v@5"});
}

TEST_CASE("cluster sizes: what is no range comes back as it is") {
  for (const std::string text : {"", "@", "dgx1v", "dgx1v@4", "node:2 gpu:8xA100 nvswitch:300GBps",
                                 "lab@home/../cluster.json", "dgx1v@x"})
    CHECK(cluster_sizes(text) == std::vector<std::string>{text});
}

TEST_CASE("cluster sizes: every wrong range gets one message") {
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"dgx1v@4..2", "ends below its start"},
           {"dgx1v@0..2", "node counts out of range"},
           {"dgx1v@1..2000000", "node counts out of range"},
           {"dgx1v@1..8*1", "the factor must be 2 or more"},
           {"dgx1v@1..8*0", "the factor must be 2 or more"},
           {"dgx1v@1..8*-2", "the factor must be 2 or more"},
           {"dgx1v@1..8*", "not a range"},
           {"dgx1v@..8", "not a range"},
           {"dgx1v@1..", "not a range"},
           {"dgx1v@1..8*2*2", "not a range"},
           {"dgx1v@1..99999999999", "not a range"},
           {"dgx1v@1..5000", "more than 1000 sizes"}}) {
    const std::string& given = text;  // clang 14 cannot capture the binding itself
    CAPTURE(given);
    CHECK_THROWS_WITH_AS(cluster_sizes(text), doctest::Contains(problem.c_str()), InputError);
  }
}
