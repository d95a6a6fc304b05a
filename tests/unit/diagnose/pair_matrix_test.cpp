// Pairs of nodes: valid tables, and the node that a table shows to be slow.
#include <doctest/doctest.h>

#include <string>

#include "complaint.hpp"
#include "ddpsim/diagnose/diff/pair_matrix.hpp"

namespace ddpsim {
namespace {

PairVerdict judged(const std::string& text) {
  return judge_pairs(parse_pair_matrix(text, "pairs.csv"));
}

TEST_CASE("pair matrix: the node without a fast pair is slow if the other has one") {
  const PairVerdict verdict = judged("node,node,busbw\na,b,90\nb,c,88\nc,d,50\na,d,49\n");
  CHECK(verdict.slow_nodes == std::vector<std::string>{"d"});
  CHECK(verdict.slow.size() == 2);
  CHECK(verdict.undecided.empty());
  CHECK(verdict.slow_paths.empty());
}

TEST_CASE("pair matrix: two nodes with fast pairs elsewhere have a slow path between them") {
  const PairVerdict verdict = judged("a b 90\nc d 90\na c 40\n");
  CHECK(verdict.slow_nodes.empty());
  REQUIRE(verdict.slow_paths.size() == 1);
  CHECK(verdict.slow_paths.front().b == "c");
}

TEST_CASE("pair matrix: two nodes without a fast pair stay undecided, and a fast node is named") {
  const PairVerdict verdict = judged("# GB/s\na,b,90\nc,d,40\n");
  CHECK(verdict.undecided.size() == 1);
  CHECK(verdict.slow_nodes.empty());
  CHECK(verdict.fast_nodes == std::vector<std::string>{"a", "b"});
}

TEST_CASE("pair matrix: a few per cent do not make a node slow") {
  CHECK(judged("a,b,90\nc,d,75\n").slow.empty());
}

TEST_CASE("pair matrix: groups are fast within and slow across, except for one pair") {
  std::string text;
  for (int a = 0; a < 7; ++a)
    for (int b = a + 1; b < 7; ++b) {
      const bool same = (a < 4) == (b < 4);
      text += "n" + std::to_string(a) + ",n" + std::to_string(b) + (same ? ",23\n" : ",14\n");
    }
  const PairVerdict verdict = judged(text);
  REQUIRE(verdict.groups.found());
  CHECK(verdict.groups.groups.front() == std::vector<std::string>{"n0", "n1", "n2", "n3"});
  CHECK(verdict.groups.across == 12);
  CHECK(verdict.groups.slow_across == 12);
  CHECK(verdict.groups.within == 9);
  CHECK(verdict.groups.slow_within == 0);
  CHECK(group_words(verdict.groups).find("12 of 12 pairs across") != std::string::npos);
  // A single fast pair across does not join groups.
  text.replace(text.find("n0,n4,14"), 8, "n0,n4,23");
  CHECK(judged(text).groups.slow_across == 11);
}

TEST_CASE("pair matrix: slow nodes and single paths are not groups") {
  CHECK_FALSE(judged("a b 90\nc d 90\na c 40\n").groups.found());
  CHECK_FALSE(judged("a,b,90\nb,c,88\nc,d,50\na,d,49\nb,d,48\n").groups.found());
  CHECK_FALSE(judged("a,b,90\nb,c,88\na,c,89\n").groups.found());
}

TEST_CASE("pair matrix: an invalid line is reported with its number") {
  const auto complaint = [](const std::string& text) {
    return complaint_of([&] { parse_pair_matrix(text, "pairs.csv"); });
  };
  CHECK(complaint("").find("no pair") != std::string::npos);
  CHECK(complaint("a,b\n").find("line 1") != std::string::npos);
  CHECK(complaint("a,b,9\na,c,fast\n").find("line 2") != std::string::npos);
  CHECK(complaint("a,b,-3\n").find("not a bandwidth") != std::string::npos);
  CHECK(complaint("a,a,3\n").find("itself") != std::string::npos);
  CHECK(complaint(",b,3\n").find("no name") != std::string::npos);
}

}  // namespace
}  // namespace ddpsim
