// Blocks of EfficientNet and MobileNet as torchvision builds them: a wider map between two narrow
// ones, with a convolution for each channel and weights for the channels (squeeze and excitation).
//
// Source of the structure: Sandler et al., "MobileNetV2" (2018); Hu et al., "Squeeze-and-Excitation
// Networks" (2018).
#pragma once

#include <cstdint>
#include <string>

#include "module_recorder.hpp"

namespace ddpsim {

enum class MapActivation {
  none,
  relu,
  /// SiLU, Hardswish and ReLU6 in place: their input is copied before, because backward reads it.
  copied,
};

/// A convolution without bias, a BatchNorm and an activation: NAME.0, NAME.1, NAME.2.
void convolve_and_norm(ModuleRecorder& model, const std::string& name,
                       const Convolution& convolution, MapActivation activation);
void activate_map(ModuleRecorder& model, const std::string& name, MapActivation activation);

struct InvertedResidual {
  std::int64_t expanded = 0;  ///< channels of the wide map
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t out = 0;
  /// Channels between the two layers that weigh channels; 0: none.
  std::int64_t squeezed = 0;
  MapActivation activation = MapActivation::copied;
  MapActivation squeezed_activation = MapActivation::copied;
  /// The first convolution widens and looks at neighbours, so no convolution for each channel runs.
  bool fused = false;
  /// A branch is left out for some samples, at random.
  bool drops_samples = false;
  bool adds_in_place = false;
  /// The last convolution and its BatchNorm are modules of the list itself (MobileNetV2).
  bool flat_projection = false;
};

/// `name` is the block's list of modules, such as "features.1.0.block".
void run_inverted_residual(ModuleRecorder& model, const std::string& name,
                           const InvertedResidual& block);

/// The nearest multiple of eight, at most a tenth below.
std::int64_t multiple_of_eight(double channels);

}  // namespace ddpsim
