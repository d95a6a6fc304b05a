// A transformer over the patches of an image (ViT, DeiT, BEiT, DINOv2), and models with one tower
// for text and one for images (CLIP, SigLIP).
//
// Sources of the structure: Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020). Touvron et
// al., DeiT (2021). Bao et al., BEiT (2021). Oquab et al., DINOv2 (2023). Radford et al., CLIP
// (2021). Zhai et al., SigLIP (2023). A parameter that is only used to train with masked patches is
// counted as trainable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "transformer_block.hpp"

namespace ddpsim {

/// A learned token of the embeddings.
struct LearnedToken {
  std::string name;
  std::vector<std::int64_t> shape;
  bool behind_positions = false;  ///< added after the positions
};

struct VisionShape {
  std::int64_t hidden = 0;
  std::int64_t patch = 0;
  std::int64_t channels = 3;
  std::string base;
  /// Images of a sample, such as tiles of one image. A patch attends only to patches of its own
  /// image.
  std::int64_t images = 1;
  /// Number of patches, if they come as rows instead of as an image.
  std::int64_t rows = 0;
  /// In that case, the shape of the weight that projects them.
  std::vector<std::int64_t> row_weight;
  LinearModule patches = {"embeddings.patch_embeddings.projection", true};
  std::vector<LearnedToken> tokens;  ///< in front of the patches
  std::int64_t extra_tokens = 0;     ///< how many of them are in the sequence
  std::string positions;             ///< name of a parameter [sets, tokens, hidden]
  std::int64_t position_sets = 1;    ///< 2: one for x, one for y
  std::string position_table;        ///< or name of an embedding
  std::int64_t position_rows = 0;
  std::string shared_scores;  ///< table of score biases for all blocks
  std::int64_t score_rows = 0;
  std::int64_t score_heads = 0;
  NormModule first_norm;
  std::string block_prefix = "layers.";  ///< the number of the block follows
  BlockModules block;
  std::int64_t layers = 0;
  /// Window of each block, if blocks differ; 0: it attends to the whole image.
  std::vector<std::int64_t> windows;
  NormModule last_norm;
  /// The last norm runs over the first token only.
  bool norms_first_token = false;
  /// SigLIP: a learned query attends to all patches. Its parameters are below "head".
  bool attention_pooling = false;
  std::string pooler;  ///< a Linear over the first token
  std::int64_t pooler_features = 0;
  std::vector<std::string> classifiers;
  std::int64_t labels = 0;
  std::int64_t classifier_features = 0;      ///< features that a classifier reads
  bool pooled_norm = false;                  ///< `last_norm` runs over the mean of the patches
  std::vector<std::int64_t> places;          ///< elements of position buffers
  std::vector<std::int64_t> single_buffers;  ///< elements of other buffers, in fp32
  /// Definition order of the modules below `base`.
  std::string defined;
};

/// Runs patch embedding, tokens and positions. `size` is the side of an image in pixels.
void embed_patches(ModuleRecorder& model, const VisionShape& shape, std::int64_t size);
/// Runs the embeddings and all blocks.
void run_vision(ModuleRecorder& model, const VisionShape& shape, std::int64_t size);
void run_vision_block(ModuleRecorder& model, const VisionShape& shape, std::int64_t layer);
void run_last_norm(ModuleRecorder& model, const VisionShape& shape);
/// SigLIP: a learned query attends to all patches, then a feed-forward runs.
void pool_by_attention(ModuleRecorder& model, const VisionShape& shape);
/// `defined`, with the base in front of each name.
std::string definition_order(const VisionShape& shape);

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const VisionShape& shape, std::int64_t size,
                  AttentionKernel attention);

/// The text tower of a model that also has an image tower.
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
  /// CLIP: features that both towers are projected to.
  std::int64_t projected = 0;
  std::int64_t text_projected = 0;  ///< SigLIP: output features of the text head
};

/// `tokens` is the length of the text. Each sample has one image.
Model build_model(const std::string& name, const TextImageShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
