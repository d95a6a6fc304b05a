#include "ddpsim/topologies/cluster_ranges.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"

using namespace ddpsim;

namespace {

using Texts = std::vector<std::string>;

Texts texts_of(const std::string& text) {
  Texts texts;
  for (const ClusterOfRange& cluster : cluster_ranges(text)) texts.push_back(cluster.text);
  return texts;
}

}  // namespace

TEST_CASE("cluster ranges: a range multiplies or counts, and ends with the last step") {
  CHECK(texts_of("dgx1v@1..16*2") == Texts{"dgx1v@1", "dgx1v@2", "dgx1v@4", "dgx1v@8", "dgx1v@16"});
  CHECK(texts_of("dgx1v@3..20*3") == Texts{"dgx1v@3", "dgx1v@9"});
  CHECK(texts_of("dgx1v@2..4") == Texts{"dgx1v@2", "dgx1v@3", "dgx1v@4"});
  CHECK(texts_of("dgx1v@5..5") == Texts{"dgx1v@5"});
}

TEST_CASE("cluster ranges: braces expand to each of their items, anywhere") {
  CHECK(texts_of("{dgx1v,p3dn}@{2,4..5}") ==
        Texts{"dgx1v@2", "dgx1v@4", "dgx1v@5", "p3dn@2", "p3dn@4", "p3dn@5"});
  CHECK(texts_of("node:{1..4*2} gpu:8xA100") ==
        Texts{"node:1 gpu:8xA100", "node:2 gpu:8xA100", "node:4 gpu:8xA100"});
  CHECK(texts_of("lab.json@{8}") == Texts{"lab.json@8"});
  const auto clusters = cluster_ranges("node:4 nic:{1,2}x{200,400}Gbps:ib");
  REQUIRE(clusters.size() == 4);
  CHECK(clusters[1].text == "node:4 nic:1x400Gbps:ib");
  CHECK(clusters[1].varied == " nic:1x400Gbps:ib");
  CHECK(cluster_ranges("dgx1v@2..3")[1].varied == "@3");
  CHECK(cluster_ranges("dgx1v@2")[0].varied.empty());
  CHECK(cluster_ranges("node:{2}  gpu:8xA100 ")[0].text == "node:2  gpu:8xA100 ");
}

TEST_CASE("cluster ranges: a text without a range is returned unchanged") {
  for (const std::string text : {"", "@", "dgx1v", "dgx1v@4", "node:2 gpu:8xA100 nvswitch:300GBps",
                                 "lab@home/../cluster.json", "dgx1v@x"})
    CHECK(texts_of(text) == Texts{text});
}

TEST_CASE("cluster ranges: every wrong range gets one message") {
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"dgx1v@4..2", "ends below its start"},
           {"dgx1v@0..2", "numbers out of range"},
           {"dgx1v@1..2000000", "numbers out of range"},
           {"dgx1v@1..8*1", "the factor must be 2 or more"},
           {"dgx1v@1..8*0", "the factor must be 2 or more"},
           {"dgx1v@1..8*-2", "the factor must be 2 or more"},
           {"dgx1v@1..8*99999999", "the factor must be 2 or more"},
           {"dgx1v@1..8*", "not a range"},
           {"dgx1v@..8", "not a range"},
           {"dgx1v@1..", "not a range"},
           {"dgx1v@1..8*2*2", "not a range"},
           {"dgx1v@1..9999999999999999999999", "not a range"},
           {"dgx1v@1..50000", "too many clusters"},
           {"dgx1v@{1..200}{1..200}", "too many clusters"},
           {"dgx1v@{1,}", "an item between braces is empty"},
           {"dgx1v@{}", "an item between braces is empty"},
           {"dgx1v@{1,2", "braces do not match"},
           {"dgx1v@1,2}", "braces do not match"},
           {"dgx1v@{1,{2,3}}", "braces do not match"}}) {
    const std::string& given = text;  // clang 14 cannot capture the binding itself
    CAPTURE(given);
    CHECK_THROWS_WITH_AS(cluster_ranges(text), doctest::Contains(problem.c_str()), InputError);
  }
}
