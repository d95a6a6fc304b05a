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
  attention,      ///< a batched product of activations; has no parameters
  normalization,  ///< BatchNorm, LayerNorm
  elementwise,    ///< activation, residual sum, dropout, softmax, loss
  pooling,
  embedding,
};

struct Kernel {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

/// `groups` independent products. Forward multiplies, for each sample, a matrix of `positions_out`
/// rows and `in` * kernel columns by one of `out` columns; a Linear is a 1x1 convolution.
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
  /// Of forward, per sample; either gradient takes as many.
  double multiply_adds() const {
    return static_cast<double>(outputs()) * static_cast<double>(in * kernel_size());
  }
};

/// Scores, softmax and weighted sum of `heads` heads in one kernel, which keeps no scores: forward is two products, and
/// backward five, since it computes the scores again. Source: Dao, "FlashAttention-2" (2023), section 3.
struct FusedAttention {
  std::int64_t heads = 0;
  std::int64_t features = 0;  ///< of one head
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  bool causal = false;  ///< the half of the scores beyond the diagonal is skipped

  /// Of forward, per sample.
  double multiply_adds() const {
    const double scores = static_cast<double>(heads) * static_cast<double>(queries) *
                          static_cast<double>(keys) * (causal ? 0.5 : 1);
    return 2 * scores * static_cast<double>(features);
  }
};

struct Layer {
  std::string name;  ///< the module's, or the function's after its module's: "layer1.0.conv1"
  LayerKind kind = LayerKind::elementwise;
  std::vector<std::size_t> parameters;  ///< indices, in the order their gradients are written
  std::optional<Product> product;
  std::optional<FusedAttention> fused;
  std::int64_t weights = 0;    ///< elements of its parameters
  std::int64_t inputs = 0;     ///< elements per sample that it is given …
  std::int64_t outputs = 0;    ///< … and gives; of a product `inputs` of its first operand
  bool sums_branches = false;  ///< its gradient goes to both
  /// Elements read and written per sample beside the product's own operands: every pass of every
  /// kernel, and in backward also the sum of gradients where its output is used several times.
  std::int64_t forward_elements = 0;
  std::int64_t backward_elements = 0;
  int forward_kernels = 1;
  int backward_kernels = 1;
  /// Elements per sample of its output that stay until backward, because some function's backward reads them …
  std::int64_t kept = 0;
  std::int64_t kept_bytes = 0;  ///< … and bytes beside it: places of maxima, masks of dropout
  bool data_gradient = true;    ///< false for the first layer: nobody asks for the input's gradient
  /// By backward: false where neither it nor anything in front of it trains, or where nobody reads what it gave.
  bool reached = true;
  bool passes_on = true;          ///< false where it is reached, and nothing in front of it trains
  bool trains = true;             ///< its weight; false where that is frozen
  bool single_precision = false;  ///< autocast keeps it in fp32 (LayerNorm, softmax, loss)
};

}  // namespace ddpsim
