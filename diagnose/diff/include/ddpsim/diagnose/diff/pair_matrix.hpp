// Bandwidths of pairs of nodes (nccl-tests on two at a time) -> which node is slow.
//
//   # nodes, busbw in GB/s; blanks or commas, '#' comments, a header of words
//   644,699,49.36
//   632,641,88.36
//
// A pair is as slow as the slower of its nodes, or as the path between them. A pair below kSlowPair of the fastest is slow. A
// node with any fast pair is not: it is shown to be able. So of a slow pair the node without a fast pair is slow where the
// other has one; where both have, the path is; where neither has, nothing tells, and a pair with a fast node would.
// Where nodes fall into groups, fast within and slow across, not single paths are slow but what joins the groups.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct PairBandwidth {
  std::string a, b;
  double busbw_gbps = 0;
};

struct PairMatrix {
  std::string source;
  std::vector<PairBandwidth> pairs;
};

/// Of the fastest pair: what nodes alike differ by is a few per cent, a lost port or link a quarter and more.
inline constexpr double kSlowPair = 0.8;

/// Nodes that are fast among themselves and slow with those of other groups: leaf switches, racks, rooms.
struct PairGroups {
  std::vector<std::vector<std::string>> groups;  ///< two nodes or more each; empty: there are none
  std::size_t across = 0, slow_across = 0;       ///< pairs between nodes of two groups
  std::size_t within = 0, slow_within = 0;       ///< pairs inside one
  double across_gbps = 0, within_gbps = 0;       ///< medians
  bool found() const { return !groups.empty(); }
};

struct PairVerdict {
  double fastest_gbps = 0;
  std::vector<PairBandwidth> slow;  ///< in the order of the file
  std::vector<std::string>
      slow_nodes;  ///< each is in every one of its slow pairs the one without a fast pair
  std::vector<PairBandwidth> slow_paths;  ///< both nodes are fast with another
  std::vector<PairBandwidth> undecided;   ///< neither node is fast with any
  std::vector<std::string> fast_nodes;    ///< a pair with one of these would decide
  PairGroups groups;
};

/// Throws InputError: no pair, a bandwidth that is none, a node with itself.
PairMatrix parse_pair_matrix(std::string_view text, const std::string& file);
PairMatrix read_pair_matrix(const std::string& file);

/// "2 groups of nodes (n1, n2; n3, n4): 4 of 4 pairs across are slow …". Precondition: found().
std::string group_words(const PairGroups& groups);

/// Precondition: at least one pair.
PairVerdict judge_pairs(const PairMatrix& matrix);

}  // namespace ddpsim
