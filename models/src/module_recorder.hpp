// Builds a Model by naming its modules in the order forward runs them.
//
// The gradient-ready order is derived, not listed. Autograd always takes the node created last, and
// runs AccumulateGrad as soon as its gradient exists, so gradients become ready in the reverse
// order of execution. Inside one module the order depends on its backward: a Linear (addmm)
// finishes its bias first, because the weight goes through one more node (the transpose); GPT-2's
// Conv1D, whose bias is the first input of its addmm, does too; a convolution, BatchNorm and
// LayerNorm finish weight, then bias. A parameter used twice (an output layer tied to the
// embedding) is ready once, when both contributions are summed: at its first use, which backward
// reaches last. The rules reproduce the orders measured of every model of the catalogue.
//
// A call both defines a module's parameters and runs it, because most models define their modules
// in the order forward runs them. Others say theirs beforehand (define_module). Embeddings, which
// some look up in another order, take two calls.
//
// Each call takes the activation the last one left, so that sizes follow too: what a module
// multiplies and what it moves, for one sample of the size the recorder was made for. A branch
// returns to its fork with continue_from.
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

/// What flows between modules, per sample: a map of channels, or a sequence of features.
struct Activation {
  std::int64_t channels = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;

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

/// Of one attention: query heads over `keys` positions.
struct AttentionHeads {
  std::int64_t heads = 0;
  std::int64_t keys = 0;
  std::int64_t key_heads = 0;  ///< fewer where several query heads share one; 0: as many as `heads`
  bool causal = false;
  bool dropout = false;  ///< of the softmax
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

  /// The module's weight, and its bias if it has one, come here in the definition order, whenever it runs.
  void define_module(const std::string& name, bool bias);
  void define_parameter(const std::string& name);  ///< one of them by itself
  std::size_t defined() const { return model_.parameters.size(); }
  /// Puts the parameters from the `first` on into the order in which their modules are defined: `order` names modules or
  /// parameters below `prefix`, separated by blanks. One that is not there is skipped.
  void define_in_order(std::size_t first, const std::string& prefix, std::string_view order);
  void rename_parameter(std::size_t parameter, std::string name) {
    model_.parameters[parameter].name = std::move(name);
  }
  /// It does not train: requires_grad is False.
  void freeze_parameter(std::size_t parameter) { model_.parameters[parameter].frozen = true; }
  /// From here on a module whose name has run before uses the same parameters again.
  void share_parameters() { shares_ = true; }
  /// What runs between the two begins with an input of its own, an image beside the words: no gradient of that is asked for.
  void begin_input(const Activation& input);
  void end_input();
  std::size_t layers() const { return model_.layers.size(); }
  /// Nobody reads what the layers from the `first` on gave: they run, and backward does not come to them.
  void leave_unread(std::size_t first);
  /// What runs between the two is one block: activation checkpointing may run it again.
  void begin_block();
  void end_block();

  const Activation& activation() const { return activation_; }
  void continue_from(const Activation& activation) {
    activation_ = activation;
    given_ = activation.elements();
  }

  void conv2d(const std::string& name, const Convolution& convolution);
  /// A convolution whose windows do not overlap, given one window as a row each: a product. `weight` is its shape.
  void convolve_rows(const std::string& name, const std::vector<std::int64_t>& weight, bool bias);
  /// A convolution whose weight is a direction and a length for each place of the kernel (weight_norm): parameters below `name`.
  void normalized_convolution(const std::string& name, const Convolution& convolution);
  /// Affine, with running statistics (buffers).
  void batch_norm(const std::string& name);
  void layer_norm(const std::string& name, bool bias = true);
  /// Its weight has that shape where it spans less than the activation's features, or has none (empty).
  void layer_norm(const std::string& name, bool bias, const std::vector<std::int64_t>& shape);
  /// As transformers writes it out: to fp32, square, mean, reciprocal root, two products, back.
  void rms_norm(const std::string& name);
  void rms_norm(const std::string& name, const std::vector<std::int64_t>& shape);
  void linear(const std::string& name, std::int64_t out, bool bias = true);
  /// The same by parameters of these names.
  void linear_of(const std::string& weight, const std::string& bias, std::int64_t out);
  /// A product with a parameter [in, out].
  void matmul(const std::string& parameter, std::int64_t out);
  /// The same as `linear` by the parameters of a module that may have run before.
  void linear_again(const std::string& name, std::int64_t out, bool bias);
  /// The last module reads this parameter, too: a scale, a learned position, an expert's bias.
  void with_parameter(const std::string& name, std::vector<std::int64_t> shape);
  /// Of the last module the first gradient is written last: one more function stands between it and the parameter.
  void finish_weight_last();
  /// One product for each of `count` experts, over the positions that were sent to it: one grouped kernel. The weight is
  /// [count, out, in], or [count, in, out].
  void experts(const std::string& weight, std::int64_t count, std::int64_t out, bool input_first);
  /// A Linear that stores its weight as [in, out].
  void conv1d_addmm(const std::string& name, std::int64_t out);
  /// Defines a weight that look_up and tied_linear run.
  std::size_t embedding(const std::string& name, std::int64_t rows, std::int64_t features);
  /// The same for a table that is a parameter and no module.
  std::size_t table(const std::string& name, std::int64_t rows, std::int64_t features);
  /// One row per position of the activation.
  void look_up(std::size_t embedding);
  /// A row for each of `pairs` of query and key, once for all samples; backward sums those of every sample.
  void look_up_for_scores(std::size_t embedding, std::int64_t pairs);
  /// A Linear whose weight is the embedding's; free of a bias but for one defined so.
  void tied_linear(std::size_t embedding, const std::string& bias = "");

  /// Query, key and value as fairseq's MultiheadAttention computes them: defined k, v, q; the three
  /// biases concatenated before the products, so their gradients come after the three weights'.
  void fairseq_projections(const std::string& name, const Activation& memory);
  /// Scores, softmax and weighted sum of `heads` heads over `keys` positions, each function a
  /// kernel of its own (no fused attention).
  void attention(const std::string& name, std::int64_t heads, std::int64_t keys);
  /// The same, or one fused kernel, as the recorder was made for. Given the queries, gives as much.
  void attention(const std::string& name, const AttentionHeads& shape);
  /// A product with `keys` other rows in each of `heads` heads; leaves the scores.
  void score(const std::string& name, std::int64_t heads, std::int64_t features, std::int64_t keys);
  /// Turns `features` of queries and keys by their positions, written out in ten kernels; of `whole`, where the rest of
  /// each head is joined to it again. What it gives is kept, of what it was given by the last module nothing.
  void rotate_positions(const std::string& name, std::int64_t features, std::int64_t whole);
  /// Queries and keys, or a gate's other branch, read what the last module gave, too: backward sums.
  void used_by(int modules);

  /// Kernels over the activation that read and write it this often in all, and leave this many of it for backward.
  struct Passes {
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    int kernels = 1;
    bool single_precision = false;
    int kept = 1;
  };
  void elementwise(const std::string& name, Passes passes);
  /// In place: what it keeps is the memory of its input.
  void relu(const std::string& name) {
    elementwise(name, {.forward = 2, .backward = 3, .kept = 0});
  }
  /// One kernel each way, as a ReLU; its backward reads its input.
  void gelu(const std::string& name) { elementwise(name, {.forward = 2, .backward = 3}); }
  /// The tanh approximation written out: cube, two sums, three products, tanh, one more product.
  void gelu_written_out(const std::string& name) {
    elementwise(name, {.forward = 18, .backward = 24, .kernels = 8, .kept = 4});
  }
  /// As a GELU.
  void silu(const std::string& name) { elementwise(name, {.forward = 2, .backward = 3}); }
  /// Product with another branch, each the other's gradient.
  void gate(const std::string& name) {
    elementwise(name, {.forward = 3, .backward = 6, .kernels = 1});
    ++model_.layers.back().backward_kernels;
  }
  void dropout(const std::string& name);
  /// Sum with a branch; backward sums the gradients of the two uses of the branch point and reads neither.
  void add(const std::string& name);
  /// The same into the other's memory.
  void add_in_place(const std::string& name) {
    elementwise(name, {.forward = 3, .backward = 3, .kept = 0});
    model_.layers.back().sums_branches = true;
  }
  /// Nobody's backward reads what the last module gave.
  void free_output() { model_.layers.back().kept = 0; }
  /// Softmax, logarithm and mean over the channels of every position.
  void cross_entropy(const std::string& name) {
    elementwise(name, {.forward = 4, .backward = 3, .single_precision = true});
  }
  void max_pool(const std::string& name, const Window& window);
  void average_pool(const std::string& name, const Window& window);
  /// To one side, by averaging windows that do not overlap.
  void adaptive_average_pool(const std::string& name, std::int64_t side);
  /// Joins `channels` in all of the activation's map: a copy.
  void concatenate(const std::string& name, std::int64_t channels);
  /// A tensor that DDP broadcasts, persistent or not (module.buffers()).
  void buffer(Dtype dtype, std::int64_t elements = 1);
  /// Whose they are, where releases of a library differ.
  void buffers_as_in(std::string library);
  AttentionKernel attention_kernel() const { return attention_; }
  void flatten() { activation_ = {.channels = activation_.elements()}; }

  Model finish() &&;

 private:
  std::size_t define(std::string name, std::vector<std::int64_t> shape);
  /// The module ran; its gradients come in this order among themselves.
  Layer& ran(const std::string& name, LayerKind kind, std::vector<std::size_t> gradient_order);
  void pool(const std::string& name, const Window& window, std::int64_t index_elements);
  /// The last layer reads the input, whose gradient nobody asks for.
  bool reads_input() const { return model_.layers.size() - 1 == input_begins_; }
  Product product_to(std::int64_t out) const;
  void addmm(const std::string& name, std::vector<std::int64_t> weight_shape, std::int64_t out,
             bool bias);
  void product_by(const std::string& name, std::size_t weight, std::optional<std::size_t> bias,
                  std::int64_t out);
  void eager_attention(const std::string& name, const AttentionHeads& shape);

  Model model_;
  AttentionKernel attention_;
  std::vector<std::size_t> ahead_;  ///< parameters of modules defined that have not run
  bool shares_ = false;
  std::optional<std::size_t> input_begins_ = 0;  ///< the layer that reads the input
  Activation activation_;
  std::int64_t given_ = 0;  ///< elements of the activation that the next module is given
};

}  // namespace ddpsim
