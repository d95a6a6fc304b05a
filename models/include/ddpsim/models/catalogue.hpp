// Well-known models: parameter names and shapes in definition order, the order in which autograd
// finishes their gradients, and what each layer of a forward pass computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/hint.hpp"
#include "ddpsim/models/layer.hpp"
#include "ddpsim/sim/values/optimizer.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// What one sample of a batch is.
enum class SampleKind { image, sequence };

/// How attention is computed. The names are those of the transformers library.
enum class AttentionKernel {
  /// Scores, softmax and weighted sum each run as a kernel of their own.
  eager,
  /// scaled_dot_product_attention: one fused kernel that stores no scores in memory.
  sdpa,
};
std::string_view name_of(AttentionKernel kernel);

/// Layers [first, last) of a model. In a decoder, the part that repeats.
struct Block {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct Model {
  std::string name;                      ///< "resnet50"
  std::vector<Parameter> parameters;     ///< definition order, fp32
  std::vector<std::size_t> ready_order;  ///< parameter indices as AccumulateGrad runs them
  std::vector<BufferGroup> buffers;      ///< module buffers, per dtype
  /// Release whose buffers these are, if releases of the library differ; otherwise empty.
  std::string buffers_as_in;
  std::vector<Layer> layers;  ///< in forward order; sizes are for one sample
  /// Transformer blocks, in forward order.
  std::vector<Block> blocks;
  /// Layers that process another input than the text, such as an image.
  std::vector<Block> other_inputs;
  SampleKind sample = SampleKind::image;
  /// Pixels per side, or tokens, that `layers` was built for. 0: samples have no size.
  std::int64_t sample_size = 0;
  /// Samples per GPU unless the user gives a batch.
  std::int64_t default_batch = 0;
  /// If absent, the usual optimizer for such samples.
  std::optional<Optimizer> optimizer;
  /// The optimizer updates all states of a parameter in one kernel (fused=True).
  bool fused_optimizer = false;
};

/// A model that is not built for one sample size yet. It comes from the catalogue or from
/// dimensions.
struct ModelDescription {
  std::string name;  ///< "gpt2", "llama:layers=2,hidden=64", "opt/config.json"
  SampleKind sample = SampleKind::image;
  /// Pixels per side, or tokens, unless the user gives a size.
  std::int64_t usual_size = 0;
  std::int64_t most_tokens = 0;  ///< 0: takes images
  /// Tokens of a sequence that stand for its image.
  std::int64_t image_tokens = 0;
  std::int64_t usual_batch = 0;
  /// Used unless the user chooses one.
  AttentionKernel attention = AttentionKernel::eager;
  /// Where the dimensions come from; empty if they come from the architecture's paper.
  std::string source;
  /// Dimensions that the source leaves out, with the assumed value: "vocab=32000".
  std::vector<std::string> assumed;
  /// Settings of the source that ddpsim does not read: "sliding_window".
  std::vector<std::string> ignored;
  /// A config.json that the user gave.
  bool config_file = false;
  /// Remarks for the user.
  std::vector<std::string> notes;
  /// A trace of one module: neither its sample's size nor its attention can be chosen.
  bool traced = false;
  /// The traced module checkpoints its blocks.
  bool checkpointed = false;
  std::function<Model(std::int64_t size, AttentionKernel attention)> build;
};

/// Finds a model of the catalogue by a name from `model_names`, by another spelling of it, or by
/// its name on Hugging Face.
std::optional<ModelDescription> describe_model(std::string_view name);
/// Builds the model for samples of its usual size, or for sequences of `tokens`.
Model build_model(const ModelDescription& description, std::optional<std::int64_t> tokens,
                  std::optional<AttentionKernel> attention);

/// Text for a provenance: "bundled model gpt2, buffers as in …".
std::string source_of(const Model& model);

/// Finds a model, built for samples of its usual size.
std::optional<Model> find_model(std::string_view name);
/// Finds a model, built for sequences of `tokens`. Absent also if the model takes images, or not
/// that many tokens.
std::optional<Model> find_model(std::string_view name, std::int64_t tokens);
std::vector<std::string> model_names();

/// Models that `list` shows together.
struct ModelFamily {
  std::string_view name;  ///< "ResNet"
  std::vector<std::string> models;
};
std::vector<ModelFamily> model_families();

/// What to write instead of a name that no model has.
Hint models_instead_of(std::string_view name);

/// Every model of the catalogue, built once for samples of its usual size, in the order of
/// `model_names`.
const std::vector<Model>& bundled_models();
/// Largest number of tokens that the model takes; absent for images.
std::optional<std::int64_t> most_tokens(std::string_view name);

}  // namespace ddpsim
