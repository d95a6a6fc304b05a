// Bandwidths of pairs of nodes (nccl-tests on two at a time) -> which node is slow.
//
//   # nodes, busbw in GB/s; blanks or commas, '#' comments, a header of words
//   644,699,49.36
//   632,641,88.36
//
// A pair is as slow as the slower of its nodes, or as the path between them. A pair below kSlowPair of the fastest is slow. A
// node with any fast pair is not: it is shown to be able. So of a slow pair the node without a fast pair is slow where the
// other has one; where both have, the path is; where neither has, nothing tells, and a pair with a fast node would.
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

struct PairVerdict {
  double fastest_gbps = 0;
  std::vector<PairBandwidth> slow;  ///< in the order of the file
  std::vector<std::string>
      slow_nodes;  ///< each is in every one of its slow pairs the one without a fast pair
  std::vector<PairBandwidth> slow_paths;  ///< both nodes are fast with another
  std::vector<PairBandwidth> undecided;   ///< neither node is fast with any
  std::vector<std::string> fast_nodes;    ///< a pair with one of these would decide
};

/// Throws InputError: no pair, a bandwidth that is none, a node with itself.
PairMatrix parse_pair_matrix(std::string_view text, const std::string& file);
PairMatrix read_pair_matrix(const std::string& file);

/// Precondition: at least one pair.
PairVerdict judge_pairs(const PairMatrix& matrix);

}  // namespace ddpsim
