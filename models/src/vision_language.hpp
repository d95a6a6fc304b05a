// A decoder that also reads images: a tower looks at them, a projector turns what it gives into tokens, and these take the places
// kept for them among the words. LLaVA, Gemma 3 and 4, PaliGemma, Mistral 3, SmolVLM, Qwen-VL.
//
// Source of the structure: Liu et al., "Visual Instruction Tuning" (2023) and transformers 5, modeling_*.py. Words are looked up
// first, then the tower runs, then the blocks of the decoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "decoder.hpp"
#include "vision.hpp"

namespace ddpsim {

/// What a projector does, one step behind the other.
struct ProjectorStep {
  enum class Kind {
    linear,
    matrix,  ///< a product with a parameter [in, out]
    norm,
    gelu,
    pool,  ///< the mean of `factor` tokens
    join,  ///< `factor` tokens beside each other become one
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
  std::int64_t image = 0;  ///< pixels a side
  /// Blocks of the tower behind which its features are read: 0 is what the embeddings gave. They are joined.
  std::vector<std::int64_t> read_behind;
  bool reads_norm = false;         ///< the features of the last block have passed the last norm
  bool skips_first_token = false;  ///< the first token is left out
  std::vector<ProjectorStep> projector;
  std::string newline;  ///< a parameter that ends each row of an image
  DecoderShape text;
};

/// That the images of a sample become.
std::int64_t image_tokens(const VisionLanguageShape& shape);
/// Part of the tower runs, and nothing reads what it gives: its parameters get no gradient.
bool leaves_unread(const VisionLanguageShape& shape);

/// `tokens`: of words and images together.
Model build_model(const std::string& name, const VisionLanguageShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
