// Finds the slow node from bandwidths of pairs of nodes (nccl-tests on two nodes at a time).
//
//   # nodes, busbw in GB/s; blanks or commas, '#' comments, a header of words
//   644,699,49.36
//   632,641,88.36
//
// A pair is as slow as the slower of its nodes, or as the path between them. A pair below kSlowPair
// of the fastest one is slow. A node with any fast pair is not slow, because that pair proves it.
// For a slow pair this leaves three cases:
// - Only one node has a fast pair: the other node is slow.
// - Both have one: the path is slow.
// - Neither has one: nothing tells, but a pair with a fast node would.
// If nodes form groups with fast pairs inside and slow pairs across, the links between the groups
// are slow, not single paths.
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

/// As a share of the fastest pair. Equal nodes differ by a few per cent; a lost port or link costs
/// a quarter or more.
inline constexpr double kSlowPair = 0.8;

/// Groups of nodes with fast pairs inside a group and slow pairs across: leaf switches, racks,
/// rooms.
struct PairGroups {
  /// Two or more nodes each; empty if there are no groups.
  std::vector<std::vector<std::string>> groups;
  std::size_t across = 0, slow_across = 0;  ///< pairs between nodes of two groups
  std::size_t within = 0, slow_within = 0;  ///< pairs inside one
  double across_gbps = 0, within_gbps = 0;  ///< medians
  bool found() const { return !groups.empty(); }
};

struct PairVerdict {
  double fastest_gbps = 0;
  std::vector<PairBandwidth> slow;  ///< in the order of the file
  /// Nodes without a fast pair, in slow pairs whose other node has one.
  std::vector<std::string> slow_nodes;
  std::vector<PairBandwidth> slow_paths;  ///< both nodes have a fast pair elsewhere
  std::vector<PairBandwidth> undecided;   ///< neither node has a fast pair
  std::vector<std::string> fast_nodes;    ///< a pair with one of these would decide
  PairGroups groups;
};

/// Throws InputError if there is no pair, a bandwidth is no number, or a node is paired with
/// itself.
PairMatrix parse_pair_matrix(std::string_view text, const std::string& file);
PairMatrix read_pair_matrix(const std::string& file);

/// "2 groups of nodes (n1, n2; n3, n4): 4 of 4 pairs across are slow …". Precondition: found().
std::string group_words(const PairGroups& groups);

/// Precondition: at least one pair.
PairVerdict judge_pairs(const PairMatrix& matrix);

}  // namespace ddpsim
