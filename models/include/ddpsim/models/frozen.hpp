// Frozen parameters (requires_grad is False), and what they remove from backward.
//
// A layer with a frozen weight computes only the gradient of its input. Layers in front of the
// first trainable one compute nothing, because autograd visits a node only if a gradient is needed
// behind it (torch/csrc/autograd).
//
// Layers are treated as one line, in the order forward runs them. A frozen branch parallel to a
// trainable one therefore counts as part of it. Layers that backward does not reach keep no
// activations, except what the first trainable layer reads. All other layers keep what they always
// keep. This is right for adapters on frozen weights (LoRA reads the same input). It may count one
// normalization output too many if nothing else reads that output.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// Freezes every parameter whose name, or whose module's name, matches a pattern (matches_path: '*'
/// matches within one name). Returns the patterns that match nothing.
std::vector<std::string> freeze(Model& model, const std::vector<std::string>& patterns);

/// Removes the backward work of parameters that are marked as frozen: gradients, kernels, kept
/// activations and their places in the ready order.
void leave_out_frozen(Model& model);

}  // namespace ddpsim
