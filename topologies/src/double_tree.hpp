// NCCL's double binary tree over nodes (NVIDIA/nccl src/graph/trees.cc, ncclGetDtree). A node that
// forwards in one of the two trees is a leaf in the other. Together they use both directions of
// every NIC.
//
// - tree 0: The lowest set bit b of node r is its height. Its parent is (r ^ b) | 2b, or r ^ b if
//   that is beyond the last node. Its children are r - b/2 and r + b/2; the latter is lowered until
//   it exists. Node 0 is the root. Its one child is the largest power of two below the number of
//   nodes.
// - tree 1: The same with nodes counted from the end (even number) or shifted by one (odd number).
#pragma once

#include <array>
#include <optional>

namespace ddpsim {

struct TreePlace {
  std::optional<int> parent;
  std::array<std::optional<int>, 2> children;
};

/// Place of a node in a tree. `tree` is 0 or 1; 0 <= node < nodes.
TreePlace double_tree_place(int tree, int node, int nodes);

}  // namespace ddpsim
