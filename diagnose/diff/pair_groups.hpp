// Finds groups of nodes with fast pairs inside and slow pairs across.
//
// Correlation clustering by local moves: each node moves to the group with the most fast pairs
// minus slow pairs, until no move improves. The result is deterministic: nodes are taken in the
// order of their names.
#pragma once

#include "ddpsim/diagnose/diff/pair_matrix.hpp"

namespace ddpsim {

/// A pair below `slow_below` GB/s is slow. Empty if nodes form no such groups.
PairGroups find_pair_groups(const PairMatrix& matrix, double slow_below);

}  // namespace ddpsim
