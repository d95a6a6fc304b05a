// Builds a Model by naming its modules in the order forward runs them.
//
// The gradient-ready order is derived, not listed. Autograd always takes the node created last, and
// runs AccumulateGrad as soon as its gradient exists. So gradients become ready in the reverse
// order of execution. Inside one module the order depends on its backward:
//
// - A Linear (addmm) finishes its bias first, because the weight goes through one more node (the
//   transpose). So does GPT-2's Conv1D, whose bias is the first input of its addmm.
// - A convolution, BatchNorm and LayerNorm finish the weight first, then the bias.
// - A parameter used twice (an output layer tied to the embedding) is ready once, when both
//   contributions are summed. That is at its first use, which backward reaches last.
//
// These rules reproduce the orders measured for every model of the catalogue.
//
// A call both defines a module's parameters and runs it, because most models define their modules
// in the order forward runs them. Other models state their order beforehand (define_module).
// Embeddings take two calls, because some models look them up in another order.
//
// Each call takes the activation that the last call left. So sizes follow as well: what a module
// multiplies and moves, for one sample of the size that the recorder was made for. A branch returns
// to its fork with continue_from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

inline constexpr std::int64_t kImageNetClasses = 1000;

/// An activation between modules, per sample: a map of channels, or a sequence of features.
struct Activation {
  std::int64_t channels = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  /// Whether it is fp32 under autocast: the input, an embedding, the output of a norm, a residual sum.
  bool single = false;

  std::int64_t positions() const { return height * width; }
  std::int64_t elements() const { return channels * positions(); }
};

struct Convolution {
  std::int64_t out = 0;
  Kernel kernel;
  std::int64_t stride = 1;
  Kernel padding = {0, 0};
  std::int64_t groups = 1;
  bool bias = false;
  bool one_dimension = false;  ///< Conv1d: the weight has no width
};

/// Shape of one attention: query heads over `keys` positions.
struct AttentionHeads {
  std::int64_t heads = 0;
  std::int64_t keys = 0;
  /// Fewer than `heads` if several query heads share one; 0: as many.
  std::int64_t key_heads = 0;
  bool causal = false;
  bool dropout = false;  ///< dropout after the softmax
};

struct Window {
  std::int64_t size = 0;
  std::int64_t stride = 0;
  std::int64_t padding = 0;
};

class ModuleRecorder {
 public:
  ModuleRecorder(std::string model_name, Activation input,
                 AttentionKernel attention = AttentionKernel::eager);

  /// Puts the module's weight, and its bias if it has one, at this place of the definition order,
  /// whenever it runs.
  void define_module(const std::string& name, bool bias);
  /// Puts a single parameter at this position of the definition order.
  void define_parameter(const std::string& name);
  std::size_t defined() const { return model_.parameters.size(); }
  /// Reorders the parameters from `first` on by the order in which their modules are defined.
  /// `order` lists modules or parameters below `prefix`, separated by blanks. Names that do not
  /// exist are skipped.
  void define_in_order(std::size_t first, const std::string& prefix, std::string_view order);
  void rename_parameter(std::size_t parameter, std::string name) {
    model_.parameters[parameter].name = std::move(name);
  }
  /// Marks the parameter as not trainable (requires_grad is False).
  void freeze_parameter(std::size_t parameter) { model_.parameters[parameter].frozen = true; }
  /// From here on, a module whose name has run before uses the same parameters again.
  void share_parameters() { shares_ = true; }
  /// The layers between begin_input and its end start from an input of their own, such as an image.
  /// No gradient of that input is needed.
  void begin_input(const Activation& input);
  void end_input();
  /// The last module reads an input of the model, whose gradient is not needed.
  void reads_given();
  std::size_t layers() const { return model_.layers.size(); }
  /// Nothing reads the outputs of the layers from `first` on. They run, but backward does not reach
  /// them.
  void leave_unread(std::size_t first);
  /// The layers between begin_block and its end form one block, which activation checkpointing may
  /// run again.
  void begin_block();
  void end_block();

  Activation activation() const { return activation_; }
  void continue_from(const Activation& activation) {
    activation_ = activation;
    given_ = activation.elements();
    given_by_last_ = false;
  }

  void conv2d(const std::string& name, const Convolution& convolution);
  /// A convolution with windows that do not overlap, given one row per window. It is a matrix
  /// product, and `weight` is the shape of its weight.
  void convolve_rows(const std::string& name, const std::vector<std::int64_t>& weight, bool bias);
  /// A convolution with weight_norm: its weight is a direction and a length for each place of the
  /// kernel. Their parameters are below `name`.
  void normalized_convolution(const std::string& name, const Convolution& convolution);
  /// A BatchNorm with affine parameters and running statistics (buffers).
  void batch_norm(const std::string& name);
  void layer_norm(const std::string& name, bool bias = true);
  /// `shape` is the shape of the weight if it covers less than the activation's features. An empty
  /// `shape` means no weight.
  void layer_norm(const std::string& name, bool bias, const std::vector<std::int64_t>& shape);
  /// The kernels that transformers runs: to fp32, square, mean, reciprocal root, two products,
  /// back.
  void rms_norm(const std::string& name);
  void rms_norm(const std::string& name, const std::vector<std::int64_t>& shape);
  void linear(const std::string& name, std::int64_t out, bool bias = true);
  /// A Linear whose parameters have the given names.
  void linear_of(const std::string& weight, const std::string& bias, std::int64_t out);
  /// A product with a parameter of shape [in, out].
  void matmul(const std::string& parameter, std::int64_t out);
  /// A Linear whose module may have run before.
  void linear_again(const std::string& name, std::int64_t out, bool bias);
  /// Adds a parameter that the last module reads too: a scale, a learned position, an expert's
  /// bias.
  void with_parameter(const std::string& name, std::vector<std::int64_t> shape);
  /// The same, but the parameter is cast, so that the output keeps its type.
  void with_cast_parameter(const std::string& name, std::vector<std::int64_t> shape);
  /// Lets the last module write its first gradient last, because one more function stands between
  /// it and the parameter.
  void finish_weight_last();
  /// One product for each of `count` experts, over the positions that were sent to it, in one
  /// grouped kernel. The weight is [count, out, in], or with `input_first` [count, in, out].
  void experts(const std::string& weight, std::int64_t count, std::int64_t out, bool input_first);
  /// A Linear that stores its weight as [in, out].
  void conv1d_addmm(const std::string& name, std::int64_t out);
  /// Defines a weight that `look_up` and `tied_linear` use.
  std::size_t embedding(const std::string& name, std::int64_t rows, std::int64_t features);
  /// Defines a weight for `look_up` and `tied_linear` that is a parameter without a module.
  std::size_t table(const std::string& name, std::int64_t rows, std::int64_t features);
  /// Looks up one row per position of the activation.
  void look_up(std::size_t embedding);
  /// Looks up one row for each of `pairs` of query and key, once for all samples. Backward sums the
  /// gradients of all samples.
  void look_up_for_scores(std::size_t embedding, std::int64_t pairs);
  /// A Linear that uses the embedding's weight. It has a bias only if `bias` names one.
  void tied_linear(std::size_t embedding, const std::string& bias = "");

  /// Query, key and value as fairseq's MultiheadAttention computes them. They are defined as k, v,
  /// q. The three biases are concatenated before the products, so their gradients come after those
  /// of the three weights.
  void fairseq_projections(const std::string& name, const Activation& memory);
  /// Scores, softmax and weighted sum of `heads` heads over `keys` positions. Each function runs
  /// its own kernel (no fused attention).
  void attention(const std::string& name, std::int64_t heads, std::int64_t keys);
  /// Attention that runs as separate kernels, or as one fused kernel if the recorder was made for
  /// it. The activation holds the queries, and the output has the same size.
  void attention(const std::string& name, const AttentionHeads& shape);
  /// A product with `keys` other rows in each of `heads` heads. The activation becomes the scores.
  void score(const std::string& name, std::int64_t heads, std::int64_t features, std::int64_t keys);
  /// Rotates `features` of queries and keys by their positions, in ten kernels. `whole` is the size
  /// of a head whose other features are joined again. The output is kept for backward; the output
  /// of the last module is not.
  void rotate_positions(const std::string& name, std::int64_t features, std::int64_t whole);
  /// Queries and keys, or the other branch of a gate, also read the last module's output. Backward
  /// sums their gradients.
  void used_by(int modules);
  /// The last module's output is used so often by functions that are no products.
  void sums_gradients(int uses);

  /// Says how many products read the last module's output. If it is fp32, autocast keeps a cast for
  /// each.
  void read_by_products(int products);

  /// Passes over the activation: how often all kernels together read and write it, and how many
  /// copies they keep for backward.
  struct Passes {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    int kernels = 1;
    bool single_precision = false;
    int kept = 1;
  };
  void elementwise(const std::string& name, Passes passes);
  /// Runs in place: the output uses the memory of the input.
  void relu(const std::string& name) {
    elementwise(name, {.forward = 2, .backward = 3, .kept = 0});
  }
  /// One kernel each way, like a ReLU. Backward reads the input.
  void gelu(const std::string& name) { elementwise(name, {.forward = 2, .backward = 3}); }
  /// The tanh approximation as single kernels: cube, two sums, three products, tanh, one more
  /// product.
  void gelu_written_out(const std::string& name);
  /// Costs the same as a GELU.
  void silu(const std::string& name) { elementwise(name, {.forward = 2, .backward = 3}); }
  /// Product with another branch. Each factor is the other's gradient.
  void gate(const std::string& name) {
    elementwise(name, {.forward = 3, .backward = 6, .kernels = 1});
    ++model_.layers.back().backward_kernels;
  }
  void dropout(const std::string& name);
  /// Sum with a branch. Backward sums the gradients of the two uses of the branch point, and reads
  /// neither value.
  void add(const std::string& name, const Activation& branch);
  /// Sum with a branch, written into the memory of that branch.
  void add_in_place(const std::string& name, const Activation& branch);
  /// No backward reads the last module's output.
  void free_output() {
    model_.layers.back().kept = 0;
    model_.layers.back().kept_by_autocast.reset();
  }
  /// Softmax, logarithm and mean over the channels of every position. Backward reads the
  /// logarithms, and not what they were made of.
  void cross_entropy(const std::string& name) {
    free_output();
    elementwise(name, {.forward = 4, .backward = 3, .single_precision = true});
    // The loss is computed in fp32, also of a model in bfloat16.
    model_.layers.back().kept_by_half = element_size(Dtype::float32) * model_.layers.back().kept;
  }
  void max_pool(const std::string& name, const Window& window);
  void average_pool(const std::string& name, const Window& window);
  /// Reduces the map to `side` by averaging windows that do not overlap.
  void adaptive_average_pool(const std::string& name, std::int64_t side);
  /// Copies branches into one map of `channels`.
  void concatenate(const std::string& name, std::int64_t channels);
  /// A tensor that DDP broadcasts (module.buffers()), persistent or not.
  void buffer(Dtype dtype, std::int64_t elements = 1);
  /// Names the release whose buffers these are, if releases of a library differ.
  void buffers_as_in(std::string library);
  AttentionKernel attention_kernel() const { return attention_; }
  void flatten() { activation_ = {.channels = activation_.elements()}; }

  Model finish() &&;

 private:
  std::size_t define(std::string name, std::vector<std::int64_t> shape);
  /// Records that the module ran. Its gradients become ready in this order.
  Layer& ran(const std::string& name, LayerKind kind, std::vector<std::size_t> gradient_order);
  void pool(const std::string& name, const Window& window, std::int64_t index_elements);
  /// Notes that the last layer summed the activation and this branch.
  void sums_with(const Activation& branch);
  /// Autocast runs the last layer in fp32, and its result stays fp32.
  void stays_single(std::int64_t converted);
  /// Whether the last layer reads the model's input, whose gradient is not needed.
  bool reads_input() const { return model_.layers.size() - 1 == input_begins_; }
  Product product_to(std::int64_t out) const;
  /// Autocast casts the fp32 input of this product. It keeps the cast instead of a sum before it.
  void casts_for(Layer& product);
  /// Under autocast the last layer keeps an fp32 copy of its input, instead of what a product or a
  /// sum before it gave.
  void keeps_cast_input();
  /// Bytes of the copy of the activation that autocast makes for a product.
  std::int64_t cast_for_a_product() const;
  void addmm(const std::string& name, std::vector<std::int64_t> weight_shape, std::int64_t out,
             bool bias);
  void product_by(const std::string& name, std::size_t weight, std::optional<std::size_t> bias,
                  std::int64_t out);
  void eager_attention(const std::string& name, const AttentionHeads& shape);

  Model model_;
  AttentionKernel attention_;
  std::vector<std::size_t> ahead_;  ///< parameters of defined modules that have not run
  bool shares_ = false;
  std::optional<std::size_t> input_begins_ = 0;  ///< the layer that reads the input
  Activation activation_;
  /// Elements of the activation that the next module receives.
  std::int64_t given_ = 0;
  /// Whether the last layer gave that activation.
  bool given_by_last_ = false;
  /// Whether the last layer received what the layer before it gave.
  bool follows_last_ = false;
};

}  // namespace ddpsim
