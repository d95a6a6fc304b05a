// The denoising UNet of Stable Diffusion as diffusers builds it (UNet2DConditionModel): residual
// blocks that read the time step, and transformers whose cross attention reads the text.
//
// Source of the structure: Rombach et al., "High-Resolution Image Synthesis with Latent Diffusion
// Models" (2022); Podell et al., "SDXL" (2023). Only the UNet trains. It reads latents, an eighth
// as wide as the image, and the encoded text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct UNetLevel {
  std::int64_t channels = 0;
  /// Layers of the transformer behind each residual block; 0: none.
  std::int64_t layers = 0;
  std::int64_t heads = 0;
};

struct UNetShape {
  std::vector<UNetLevel> levels;
  std::int64_t text_features = 0;
  /// Projections into and out of a transformer are Linears instead of convolutions.
  bool linear_projection = false;
  /// Features of what is embedded beside the time step; 0: nothing.
  std::int64_t added_features = 0;
};

/// `size` is the side of the latents: 64 for an image of 512 pixels.
Model build_model(const std::string& name, const UNetShape& shape, std::int64_t size,
                  AttentionKernel attention);

}  // namespace ddpsim
