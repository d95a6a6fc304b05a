// What forward leaves in memory for backward, by the layers of a model.
//
//   input of the first layer + kept elements * 2 or 4 bytes + masks and places, times the batch
//   under autocast also a cast of every weight that a product reads
//
// and what backward holds of it between gradients (Activations::held), in the order of Model::ready_order: a layer's
// output until what follows has run, its masks until it has itself; while it runs the gradients of its output and of
// its input. Where two branches are summed, a gradient waits until the other branch has run (to the next such sum); for a
// weight used twice, its gradient until it is complete. Input and output stay in the hands of the script.
//
// Under activation checkpointing a block's share comes back when backward reaches it, before its first gradient.
//
// As autograd does, and as torchvision computes (ReLUs in place). Held against two traces: ResNet-50 at batch 32 and VGG-13 at batch 512
// (tests/unit/models/kept_activations_test.cpp).
#pragma once

#include "ddpsim/models/checkpointing.hpp"
#include "ddpsim/models/layer_cost.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

Activations kept_activations(const Model& model, const ComputeSetting& setting,
                             const Checkpointing& checkpointing = {});

}  // namespace ddpsim
