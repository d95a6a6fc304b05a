// A decoder that also reads images. A tower processes the images, and a projector turns its output
// into tokens, which take reserved places between the words. LLaVA, Gemma 3 and 4, PaliGemma,
// Mistral 3, SmolVLM, Qwen-VL.
//
// Source of the structure: Liu et al., "Visual Instruction Tuning" (2023) and transformers 5,
// modeling_*.py. First the words are looked up, then the tower runs, then the blocks of the
// decoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "decoder.hpp"
#include "vision.hpp"

namespace ddpsim {

/// One step of a projector. Steps run one after the other.
struct ProjectorStep {
  enum class Kind {
    linear,
    matrix,  ///< a product with a parameter [in, out]
    norm,
    gelu,
    pool,  ///< the mean of `factor` tokens
    join,  ///< joins `factor` adjacent tokens into one
  };
  Kind kind = Kind::linear;
  std::string name;
  std::int64_t out = 0;
  bool bias = false;
  NormModule norm;
  std::int64_t factor = 1;
};

struct VisionLanguageShape {
  VisionShape tower;
  std::int64_t image = 0;  ///< pixels per side
  /// Blocks of the tower after which its features are read; 0 is the output of the embeddings. The
  /// features are joined.
  std::vector<std::int64_t> read_behind;
  bool reads_norm = false;         ///< the last block's features passed the last norm
  bool skips_first_token = false;  ///< the first token is left out
  std::vector<ProjectorStep> projector;
  /// Name of a parameter that ends each row of an image.
  std::string newline;
  DecoderShape text;
};

/// Number of tokens that the images of a sample become.
std::int64_t image_tokens(const VisionLanguageShape& shape);
/// Whether part of the tower runs although nothing reads its output. Its parameters get no
/// gradient.
bool leaves_unread(const VisionLanguageShape& shape);

/// `tokens` counts words and images together.
Model build_model(const std::string& name, const VisionLanguageShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
