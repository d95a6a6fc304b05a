// Activations that forward keeps in memory for backward, counted layer by layer:
//
//   input of the first layer + kept elements * 2 or 4 bytes + masks and indices, times the batch
//   under autocast also a cast of every weight that a product reads
//
// It also counts what is still held between gradients (Activations::held), in the order of
// Model::ready_order. A layer's output is held until the layers behind it have run backward, and
// its masks until it has run itself. While a layer runs, the gradients of its output and of its
// input exist too. At a residual sum, one gradient waits until the other branch has run. The
// gradient of a weight that is used twice waits until it is complete. The script holds the model's
// input and output for the whole step.
//
// With activation checkpointing, a block's activations come back when backward reaches it, before
// its first gradient.
//
// The rules are those of autograd, and of torchvision (in-place ReLUs). They were checked against
// two traces: ResNet-50 at batch 32 and VGG-13 at batch 512
// (tests/unit/models/kept_activations_test.cpp).
#pragma once

#include "ddpsim/models/checkpointing.hpp"
#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

Activations kept_activations(const Model& model, const ComputeSetting& setting,
                             const Checkpointing& checkpointing = {});

}  // namespace ddpsim
