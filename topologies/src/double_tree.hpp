// NCCL's double binary tree over nodes (NVIDIA/nccl src/graph/trees.cc, ncclGetDtree): two trees, so
// that a node that forwards in one is a leaf in the other, and together they use both directions of
// every NIC.
//
//   tree 0   r's lowest set bit b is its height: parent (r ^ b) | 2b, or r ^ b where that is beyond
//            the last node; children r - b/2 and r + b/2, the latter lowered until it exists. Node 0
//            is the root with one child, the largest power of two below the number of nodes.
//   tree 1   the same with nodes counted from the end (even number of nodes) or shifted by one (odd)
#pragma once

#include <array>
#include <optional>

namespace ddpsim {

struct TreePlace {
  std::optional<int> parent;
  std::array<std::optional<int>, 2> children;
};

/// `tree` is 0 or 1; 0 <= node < nodes.
TreePlace double_tree_place(int tree, int node, int nodes);

}  // namespace ddpsim
