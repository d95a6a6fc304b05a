// A transformer over the patches of an image, and models of text and image that have one of each: ViT, DeiT, BEiT, DINOv2; CLIP
// and SigLIP.
//
// Source of the structure: Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020); Touvron et al., DeiT (2021); Bao et al.,
// BEiT (2021); Oquab et al., DINOv2 (2023); Radford et al., CLIP (2021); Zhai et al., SigLIP (2023). A parameter that only
// training with masked patches uses is counted as if it trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "transformer_block.hpp"

namespace ddpsim {

/// A parameter of the embeddings.
struct LearnedToken {
  std::string name;
  std::vector<std::int64_t> shape;
  bool behind_positions = false;  ///< it joins when positions have been added
};

struct VisionShape {
  std::int64_t hidden = 0;
  std::int64_t patch = 0;
  std::int64_t channels = 3;
  std::string base;
  std::int64_t images =
      1;                  ///< of a sample, such as tiles of one; a patch looks at those of its own
  std::int64_t rows = 0;  ///< patches, where they come as rows and not as an image …
  std::vector<std::int64_t> row_weight;  ///< … and the shape of what projects them
  LinearModule patches = {"embeddings.patch_embeddings.projection", true};
  std::vector<LearnedToken> tokens;  ///< in front of the patches
  std::int64_t extra_tokens = 0;     ///< how many of them stand in the sequence
  std::string positions;             ///< a parameter [sets, tokens, hidden] …
  std::int64_t position_sets = 1;    ///< 2: one for x, one for y
  std::string position_table;        ///< … or an embedding
  std::int64_t position_rows = 0;
  std::string shared_scores;  ///< a table of score biases that all blocks read
  std::int64_t score_rows = 0;
  std::int64_t score_heads = 0;
  NormModule first_norm;
  std::string blocks_module = "layers";
  BlockModules block;
  std::int64_t layers = 0;
  std::vector<std::int64_t>
      windows;  ///< of each block, where they differ; 0: it looks at the whole image
  NormModule last_norm;
  bool norms_first_token = false;  ///< the last norm runs over that alone
  bool attention_pooling = false;  ///< SigLIP: a learned query attends to all patches, below "head"
  std::string pooler;              ///< a Linear over the first token
  std::int64_t pooler_features = 0;
  std::vector<std::string> classifiers;
  std::int64_t labels = 0;
  std::int64_t classifier_features = 0;      ///< that a classifier reads
  bool pooled_norm = false;                  ///< `last_norm` runs over the mean of the patches
  std::vector<std::int64_t> places;          ///< elements of buffers of places …
  std::vector<std::int64_t> single_buffers;  ///< … and of others, in fp32
  std::string defined;  ///< of what lies below `base`, in the order of definition
};

/// Patches, tokens and positions. `size`: pixels a side.
void embed_patches(ModuleRecorder& model, const VisionShape& shape, std::int64_t size);
/// The same, and all blocks.
void run_vision(ModuleRecorder& model, const VisionShape& shape, std::int64_t size);
void run_vision_block(ModuleRecorder& model, const VisionShape& shape, std::int64_t layer);
void run_last_norm(ModuleRecorder& model, const VisionShape& shape);
/// SigLIP: a learned query attends to all patches, then a feed-forward.
void pool_by_attention(ModuleRecorder& model, const VisionShape& shape);
/// `defined`, with the base before each name.
std::string definition_order(const VisionShape& shape);

/// `size`: pixels a side.
Model build_model(const std::string& name, const VisionShape& shape, std::int64_t size,
                  AttentionKernel attention);

/// The tower of words beside an image's.
struct TextTower {
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  std::int64_t layers = 0;
  BlockModules block;
};

struct TextImageShape {
  TextTower text;
  VisionShape image;
  std::int64_t image_size = 0;
  std::int64_t projected = 0;       ///< CLIP: features that both are projected to
  std::int64_t text_projected = 0;  ///< SigLIP: what its text head gives
};

/// `tokens`: of the text; one image for each sample.
Model build_model(const std::string& name, const TextImageShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
