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

#include "ddpsim/models/layer.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// What one sample of a batch is.
enum class SampleKind { image, sequence };

/// How attention is computed; transformers' words.
enum class AttentionKernel {
  eager,  ///< scores, softmax and weighted sum, each function a kernel of its own
  sdpa,   ///< scaled_dot_product_attention: one fused kernel, no scores in memory
};
std::string_view name_of(AttentionKernel kernel);

/// Layers [first, last) of a model: what a decoder repeats.
struct Block {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct Model {
  std::string name;                      ///< "resnet50"
  std::vector<Parameter> parameters;     ///< definition order, fp32
  std::vector<std::size_t> ready_order;  ///< parameter indices as AccumulateGrad runs them
  std::vector<BufferGroup> buffers;      ///< module buffers, per dtype
  std::string buffers_as_in;             ///< whose, where releases of a library differ; else empty
  std::vector<Layer> layers;             ///< in forward order; sizes are for one sample
  std::vector<Block> blocks;             ///< of a transformer, in forward order
  std::vector<Block> other_inputs;       ///< layers that begin with an image beside the words
  SampleKind sample = SampleKind::image;
  std::int64_t sample_size = 0;    ///< pixels a side, or tokens, that `layers` was made for
  std::int64_t default_batch = 0;  ///< samples a GPU takes where nobody says
};

/// A model before it is built for samples of some size: of the catalogue, or whatever dimensions say it is.
struct ModelDescription {
  std::string name;  ///< "gpt2", "llama:layers=2,hidden=64", "opt/config.json"
  SampleKind sample = SampleKind::image;
  std::int64_t usual_size = 0;    ///< pixels a side, or tokens, where nobody says
  std::int64_t most_tokens = 0;   ///< 0: takes images
  std::int64_t image_tokens = 0;  ///< of a sequence, those that its image becomes
  std::int64_t usual_batch = 0;
  AttentionKernel attention = AttentionKernel::eager;  ///< where nobody says
  std::string source;                ///< of its dimensions; empty: the architecture's paper
  std::vector<std::string> assumed;  ///< what the source leaves out: "vocab=32000"
  std::vector<std::string> ignored;  ///< what it says and nothing here reads: "sliding_window"
  std::vector<std::string> notes;    ///< what its reader should know
  std::function<Model(std::int64_t size, AttentionKernel attention)> build;
};

/// Of the catalogue: a name that model_names lists, or another name of the same model.
std::optional<ModelDescription> describe_model(std::string_view name);
/// The model of that description for samples of its usual size, or sequences of `tokens`.
Model build_model(const ModelDescription& description, std::optional<std::int64_t> tokens,
                  std::optional<AttentionKernel> attention);

/// For a provenance: "bundled model gpt2, buffers as in …".
std::string source_of(const Model& model);

/// The model for samples of its usual size.
std::optional<Model> find_model(std::string_view name);
/// The model for sequences of that many tokens. Absent also when the model takes images, or not
/// that many tokens.
std::optional<Model> find_model(std::string_view name, std::int64_t tokens);
std::vector<std::string> model_names();
/// Every model of the catalogue for samples of its usual size, in the order of model_names; built once.
const std::vector<Model>& bundled_models();
/// Tokens the model can take at most; absent for images.
std::optional<std::int64_t> most_tokens(std::string_view name);

}  // namespace ddpsim
