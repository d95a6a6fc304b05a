// Parameters that do not train (requires_grad is False): what that leaves of backward.
//
// Of a layer whose weight is frozen backward computes the gradient of its input alone; of the layers in front of the first
// one that trains, nothing: autograd comes to a node only where something behind it asks for a gradient
// (torch/csrc/autograd). Layers are a line here, in the order forward runs them: a frozen branch beside one that trains counts
// as part of it. What forward keeps: nothing of layers that backward does not come to, but for what the first one that trains
// reads; of all others as without. That is right of adapters beside frozen weights (LoRA reads the same input), and up to a
// normalisation's output a layer too much where nobody else reads it.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// Freezes every parameter whose name matches a pattern, or lies in a module that does (matches_path: '*' within one name).
/// Returns the patterns that match nothing.
std::vector<std::string> freeze(Model& model, const std::vector<std::string>& patterns);

/// Of a model whose frozen parameters are marked: its layers, their parameters and ready order, for the others alone.
void leave_out_frozen(Model& model);

}  // namespace ddpsim
