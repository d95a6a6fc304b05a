#include "double_tree.hpp"

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {
namespace {

TreePlace first_tree_place(int node, int nodes) {
  TreePlace place;
  int bit = 1;
  while (bit < nodes && (node & bit) == 0) bit <<= 1;
  if (node == 0) {
    if (nodes > 1) place.children[1] = bit >> 1;
    return place;
  }
  const int up = (node ^ bit) | (bit << 1);
  place.parent = up < nodes ? up : node ^ bit;
  const int half = bit >> 1;
  if (half == 0) return place;
  place.children[0] = node - half;
  int step = half;
  while (step > 0 && node + step >= nodes) step >>= 1;
  if (step > 0) place.children[1] = node + step;
  return place;
}

}  // namespace

TreePlace double_tree_place(int tree, int node, int nodes) {
  if (tree == 0) return first_tree_place(node, nodes);
  const bool mirror = nodes % 2 == 0;
  const auto there = [&](int n) { return mirror ? nodes - 1 - n : (n - 1 + nodes) % nodes; };
  const auto back = [&](int n) { return mirror ? nodes - 1 - n : (n + 1) % nodes; };
  TreePlace place = first_tree_place(there(node), nodes);
  if (place.parent) place.parent = back(*place.parent);
  for (auto& child : place.children) {
    if (child) child = back(*child);
  }
  return place;
}

NodeTree node_tree(int tree, int nodes) {
  NodeTree parents;
  for (int node = 0; node < nodes; ++node) {
    parents.push_back(double_tree_place(tree, node, nodes).parent);
  }
  return parents;
}

}  // namespace ddpsim
