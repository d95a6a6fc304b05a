// What one module or function of a forward pass computes: matrix products and memory traffic, per
// sample. `layer_cost` turns it into time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddpsim {

enum class LayerKind {
  convolution,
  linear,
  attention,      ///< batched product of activations, without parameters
  normalization,  ///< BatchNorm, LayerNorm
  elementwise,    ///< activation, residual sum, dropout, softmax, loss
  pooling,
  embedding,
};

struct Kernel {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

/// `groups` independent products. For each sample, forward multiplies a matrix of `positions_out`
/// rows and `in` * kernel columns by a matrix of `out` columns. A Linear is a 1x1 convolution.
struct Product {
  std::int64_t groups = 1;
  std::int64_t in = 0;   ///< channels of one group
  std::int64_t out = 0;  ///< channels of one group
  Kernel kernel;
  std::int64_t stride = 1;
  std::int64_t positions_in = 1;  ///< pixels, or tokens
  std::int64_t out_height = 1;
  std::int64_t out_width = 1;

  std::int64_t positions_out() const { return out_height * out_width; }
  std::int64_t kernel_size() const { return kernel.height * kernel.width; }
  std::int64_t inputs() const { return groups * in * positions_in; }       ///< per sample
  std::int64_t outputs() const { return groups * out * positions_out(); }  ///< per sample
  /// Multiply-adds of forward, per sample. Each of the two gradients takes the same number.
  double multiply_adds() const {
    return static_cast<double>(outputs()) * static_cast<double>(in * kernel_size());
  }
};

/// Scores, softmax and weighted sum of `heads` heads in one kernel that stores no scores. Forward
/// runs two products. Backward runs five, because it computes the scores again. Source: Dao,
/// "FlashAttention-2" (2023), section 3.
struct FusedAttention {
  std::int64_t heads = 0;
  std::int64_t features = 0;  ///< of one head
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  /// Fewer than `heads` if several query heads share keys and values; 0: as many.
  std::int64_t key_heads = 0;
  bool causal = false;  ///< skips the scores above the diagonal

  bool shares_keys() const { return key_heads > 0 && key_heads < heads; }
  /// Scores per sample, also those that a causal mask hides.
  double scores() const {
    return static_cast<double>(heads) * static_cast<double>(queries) * static_cast<double>(keys);
  }

  /// Multiply-adds of forward, per sample.
  double multiply_adds() const {
    return 2 * scores() * (causal ? 0.5 : 1) * static_cast<double>(features);
  }
};

struct Layer {
  /// Name of the module, "layer1.0.conv1", or of a function, which follows its module's name.
  std::string name;
  LayerKind kind = LayerKind::elementwise;
  std::vector<std::size_t> parameters;  ///< indices, in the order their gradients are written
  std::optional<Product> product;
  std::optional<FusedAttention> fused;
  std::int64_t weights = 0;  ///< elements of its parameters
  /// Elements per sample of the input; for a product, of its first operand.
  std::int64_t inputs = 0;
  /// Elements per sample of the output.
  std::int64_t outputs = 0;
  bool sums_branches = false;  ///< its gradient goes to both branches
  /// Elements per sample that are read and written in addition to the product's operands, over all
  /// passes of all kernels. Backward includes the sum of gradients if the output is used more than
  /// once.
  std::int64_t forward_elements = 0;
  std::int64_t backward_elements = 0;
  int forward_kernels = 1;
  int backward_kernels = 1;
  /// Elements of the output that stay until backward, per sample, because a backward function reads
  /// them.
  std::int64_t kept = 0;
  /// Bytes per sample that stay instead of `kept` under autocast: it promotes outputs to fp32, and
  /// casts one output for each operator that reads it. Absent: two bytes an element, or four.
  std::optional<std::int64_t> kept_by_autocast;
  /// The same if parameters are bfloat16 too. Absent: two bytes an element.
  std::optional<std::int64_t> kept_by_half;
  /// Bytes per sample that stay in addition: indices of maxima, masks of dropout.
  std::int64_t kept_bytes = 0;
  /// Whether backward needs the gradient of the layer's input. False for the first layer: nothing
  /// needs the gradient of the model's input.
  bool data_gradient = true;
  /// Whether backward runs this layer. False if neither the layer nor any layer before it has
  /// trainable parameters, or if nothing reads the layer's output.
  bool reached = true;
  /// Whether a layer before this one has trainable parameters, so that backward goes on to it.
  /// False: backward stops here and does not compute the gradient of the layer's input.
  bool passes_on = true;
  bool trains = true;             ///< whether its weight is trainable, not frozen
  bool single_precision = false;  ///< autocast keeps it in fp32 (LayerNorm, softmax, loss)
  /// Mean bytes per element that it reads and writes under autocast. A sum of a half and an fp32
  /// activation is fp32. 0: 4 or 2, as `single_precision` says.
  double autocast_width = 0;
  /// Elements per sample that autocast converts between fp32 and half in forward, because the
  /// layer computes in the other format. Backward converts their gradients back.
  std::int64_t autocast_casts = 0;
  /// The same if parameters are half, and nothing but the module itself converts.
  std::int64_t half_casts = 0;
  bool channels_last = false;  ///< its operands are NHWC

  /// Whether backward computes the gradient of the layer's input.
  bool gives_gradient() const { return data_gradient && passes_on; }
};

}  // namespace ddpsim
