// Groups of nodes that are fast among themselves and slow with each other.
//
// Correlation clustering by local moves: each node goes where it has most fast pairs less slow ones, until none gains by
// going elsewhere. Deterministic: nodes are taken in the order of their names.
#pragma once

#include "ddpsim/diagnose/diff/pair_matrix.hpp"

namespace ddpsim {

/// `slow_below`, GB/s: a pair with less is slow. Empty where nodes fall into no such groups.
PairGroups find_pair_groups(const PairMatrix& matrix, double slow_below);

}  // namespace ddpsim
