#include "ddpsim/models/layer_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ddpsim/models/launches.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/values/cpu_offload.hpp"
#include "layer_cost_constants.hpp"

namespace ddpsim {
namespace {

constexpr std::array kPrecisions = {Precision::fp32, Precision::tf32, Precision::amp,
                                    Precision::bf16, Precision::bf16_true};

/// Output tile of one thread block, and the least depth of a block when a product is split across
/// more blocks. The sizes are usual for cuBLAS and cuDNN kernels.
constexpr double kTileRows = 128;
constexpr double kTileColumns = 64;
constexpr double kLeastDepth = 256;

/// Passes for layout conversions. Convolutions on tensor cores use NHWC, and PyTorch's default is
/// NCHW. Separate kernels read and write four of the six operands of the three products. Source:
/// traces of a ResNet-50 on an A100 and a VGG-13 on an H100, with three conversions to NHWC and one
/// from NHWC per convolution.
constexpr double kLayoutPasses = 4.0 / 3;

/// Bytes moved for each score where PyTorch's attention is not fused ("math"), each way: passes over
/// fp32. Forward: one product writes and one reads, mask 2, softmax 2, rows without scores 3.
/// Backward is alike.
constexpr double kWrittenOutBytes = 9.5 * 4;

/// Work of fused attention relative to the two products of forward. Backward computes the scores
/// again and three gradients.
constexpr double kFusedForward = 1;
constexpr double kFusedBackward = 2.5;

enum class Pass { forward, data_gradient, weight_gradient };

class CostModel {
 public:
  CostModel(const Layer& layer, const ComputeSetting& setting, const LayerCostConstants& constants)
      : layer_(layer),
        constants_(constants),
        gpu_(setting.gpu),
        batch_(static_cast<double>(setting.batch)),
        bandwidth_(layer_bandwidth(gpu_).bytes_per_second()),
        element_(is_half(setting.precision) && !layer.single_precision ? 2 : 4),
        casts_(casts_weights(setting.precision)),
        width_(casts_ && layer.autocast_width > 0 ? layer.autocast_width : element_),
        runs_fused_(!layer.fused || runs_fused(*layer.fused, setting)),
        native_norm_(runs_native_batch_norm(setting.precision)),
        converted_(converted_elements(layer, setting.precision)),
        weight_element_(static_cast<double>(element_size(parameter_dtype(setting.precision)))),
        tensor_tflops_(
            tensor_tflops(gpu_, setting.precision, layer.kind == LayerKind::convolution)) {}

  LayerCost cost() const {
    LayerCost cost;
    cost.forward =
        seconds(moving(layer_.forward_elements - spared(1)) + kernels(layer_.forward_kernels) +
                product(Pass::forward) + fused(kFusedForward) + converting() +
                by_channel(constants_.channel_forward_ns));
    if (!layer_.reached) return cost;
    cost.data_gradient =
        seconds(moving(layer_.backward_elements - spared(2)) + kernels(layer_.backward_kernels) +
                (layer_.gives_gradient() ? product(Pass::data_gradient) + converting() : 0) +
                fused(kFusedBackward) + by_channel(constants_.channel_backward_ns));
    if (layer_.trains)
      cost.weight_gradient = seconds(product(Pass::weight_gradient) + writing_lookups());
    return cost;
  }

 private:
  static Duration seconds(double value) { return Duration::seconds(value); }

  double memory_seconds(double bytes) const {
    return bytes / (bandwidth_ * constants_.memory * sustained_by(gpu_).memory);
  }
  double moving(std::int64_t elements) const {
    return memory_seconds(static_cast<double>(elements) * batch_ * width_);
  }
  bool is_batch_norm() const {
    return layer_.kind == LayerKind::normalization && !layer_.single_precision;
  }
  double kernels(int count) const { return count * constants_.kernel_us * 1e-6; }

  /// Reads one format and writes the other, in a kernel of its own.
  double converting() const {
    if (converted_ == 0) return 0;
    return memory_seconds(static_cast<double>(converted_) * batch_ * 6) + kernels(1);
  }

  /// Elements that a BatchNorm in channels_last need not read `passes` times more. PyTorch's
  /// BatchNorm.cpp asks cuDNN for CUDNN_BATCHNORM_SPATIAL_PERSISTENT. That kernel computes the
  /// statistics and the result of some channels while their elements stay on chip.
  std::int64_t spared(std::int64_t passes) const {
    return layer_.channels_last && is_batch_norm() && !native_norm_ ? passes * layer_.outputs : 0;
  }

  /// BatchNorm in bfloat16 runs PyTorch's own kernel: a thread block for each channel walks all its
  /// elements. cuDNN's kernels, and those of channels_last, share a channel among blocks.
  double by_channel(double ns) const {
    if (!is_batch_norm() || !native_norm_ || layer_.channels_last || layer_.weights < 2) return 0;
    const double channels = static_cast<double>(layer_.weights) / 2;
    return static_cast<double>(layer_.outputs) * batch_ / channels * ns * 1e-9;
  }

  double written_out(double times) const {
    const double tflops = tensor_tflops_ > 0 ? tensor_tflops_ : gpu_.fp32_tflops;
    const double e = tensor_tflops_ > 0 ? constants_.tensor_linear * sustained_by(gpu_).linear
                                        : constants_.fp32_backward;
    const double scores = layer_.fused->scores() * batch_;
    const double products = times > kFusedForward ? 4 : 2;
    return memory_seconds(scores * kWrittenOutBytes) +
           2 * products * scores * static_cast<double>(layer_.fused->features) /
               (tflops * 1e12 * e);
  }

  /// Time of fused attention for `times` the work of forward. Its memory traffic is counted in the
  /// layer's elements.
  double fused(double times) const {
    if (!layer_.fused) return 0;
    if (!runs_fused_) return written_out(times);
    const double tensor =
        element_ == 2 ? constants_.tensor_attention : constants_.tensor_attention_tf32;
    const double efficiency = tensor_tflops_ > 0      ? tensor * sustained_by(gpu_).attention
                              : times > kFusedForward ? constants_.fp32_backward
                                                      : constants_.fp32_forward;
    const double tflops = tensor_tflops_ > 0 ? tensor_tflops_ : gpu_.fp32_tflops;
    return 2 * times * layer_.fused->multiply_adds() * batch_ / (tflops * 1e12 * efficiency);
  }

  /// The gradient of an embedding is dense: all rows are written, most of them zero.
  double writing_lookups() const {
    if (layer_.kind != LayerKind::embedding) return 0;
    return memory_seconds(weight_element_ * static_cast<double>(layer_.weights));
  }

  /// Share of a product's time that multiplies. The rest is the start and the end of each tile.
  double deep(double depth) const {
    if (tensor_tflops_ <= 0 || layer_.kind == LayerKind::convolution || is_odd()) return 1;
    return depth / (depth + constants_.tensor_depth);
  }

  /// Rows of an odd number of 2-byte elements do not begin at 4 bytes, the least that asynchronous
  /// copies to shared memory load. Such products run other kernels (a vocabulary of 50257).
  bool is_odd() const {
    return element_ == 2 && (layer_.product->in % 2 != 0 || layer_.product->out % 2 != 0);
  }

  double efficiency(Pass pass) const {
    if (tensor_tflops_ > 0)
      return layer_.kind == LayerKind::convolution
                 ? constants_.tensor_convolution * sustained_by(gpu_).convolution
             : is_odd() ? sustained_by(gpu_).odd
                        : constants_.tensor_linear * sustained_by(gpu_).linear;
    if (pass == Pass::forward) return constants_.fp32_forward;
    const bool strided = pass == Pass::data_gradient && layer_.product->stride > 1;
    return constants_.fp32_backward * (strided ? constants_.strided_gradient : 1);
  }

  /// Time of `count` products of rows x depth by depth x columns.
  double multiplying(double count, double rows, double columns, double depth,
                     double efficiency) const {
    const double wide = std::ceil(columns / kTileColumns);
    const double tiles = count * std::ceil(rows / kTileRows) * wide;
    const double blocks = tiles * std::max(1.0, std::floor(depth / kLeastDepth));
    const double filled = columns / (wide * kTileColumns) * std::min(1.0, blocks / gpu_.sms);
    const double tflops = tensor_tflops_ > 0 ? tensor_tflops_ : gpu_.fp32_tflops;
    return 2 * count * rows * columns * depth / (tflops * 1e12 * efficiency * deep(depth) * filled);
  }

  double product(Pass pass) const {
    if (!layer_.product) return 0;
    const Product& p = *layer_.product;
    const auto in = static_cast<double>(p.in);
    const auto out = static_cast<double>(p.out);
    const auto size = static_cast<double>(p.kernel_size());
    const double out_rows = static_cast<double>(p.positions_out()) * batch_;
    const auto groups = static_cast<double>(p.groups);
    // In an attention product, both operands depend on the sample. So each sample has a product of
    // its own.
    const bool per_sample = layer_.kind == LayerKind::attention;
    const double count = per_sample ? groups * batch_ : groups;
    const double share = per_sample ? batch_ : 1;
    const double e = efficiency(pass);
    double arithmetic = 0;
    switch (pass) {
      case Pass::forward:
        arithmetic = multiplying(count, out_rows / share, out, in * size, e);
        break;
      case Pass::data_gradient:
        // One product over the output's pixels. Pixels that a stride skips are not multiplied.
        arithmetic = multiplying(count, out_rows / share * size, in, out, e);
        break;
      case Pass::weight_gradient:
        arithmetic = multiplying(count, in * size, out, out_rows / share, e);
        break;
    }
    double operands = static_cast<double>(p.inputs() + p.outputs()) * batch_;
    if (per_sample) operands += groups * in * out * batch_;
    if (tensor_tflops_ > 0 && layer_.kind == LayerKind::convolution && !layer_.channels_last)
      operands *= 1 + kLayoutPasses;
    const auto weights = static_cast<double>(layer_.weights);
    const double direct =
        arithmetic + memory_seconds((operands + weights) * element_ + casts(weights));
    return std::min(direct, winograd(pass));
  }

  /// Autocast makes a half-precision copy of each weight, and an fp32 copy of its gradient.
  double casts(double weights) const { return casts_ && element_ == 2 ? weights * 6 : 0; }

  /// Winograd's algorithm with tiles of 4x4 outputs from (4 + k - 1)^2 inputs. Inputs and outputs
  /// are transformed in memory. Then one product per place of the tile runs over the channels.
  double winograd(Pass pass) const {
    const Product& p = *layer_.product;
    const bool square = p.kernel.height == p.kernel.width;
    const bool suits = tensor_tflops_ == 0 && square && p.stride == 1 && p.groups == 1 &&
                       (p.kernel.height == 3 || p.kernel.height == 5);
    if (!suits) return std::numeric_limits<double>::infinity();
    constexpr double kTile = 4;
    const auto side = [&](std::int64_t places) {
      return std::ceil(static_cast<double>(places) / kTile);
    };
    const double tiles = side(p.out_height) * side(p.out_width) * batch_;
    const double reach = kTile + static_cast<double>(p.kernel.height) - 1;
    const double places = reach * reach;
    const auto in = static_cast<double>(p.in);
    const auto out = static_cast<double>(p.out);
    const double e = constants_.winograd_product;
    const double arithmetic = pass == Pass::forward ? multiplying(places, tiles, out, in, e)
                              : pass == Pass::data_gradient
                                  ? multiplying(places, tiles, in, out, e)
                                  : multiplying(places, in, out, tiles, e);
    const double moved =
        static_cast<double>(p.inputs() + p.outputs()) * batch_ + 2 * tiles * places * (in + out);
    return arithmetic + moved * element_ / (bandwidth_ * constants_.winograd_memory);
  }

  const Layer& layer_;
  const LayerCostConstants& constants_;
  const GpuModel& gpu_;
  double batch_;
  double bandwidth_;
  int element_;  ///< bytes
  bool casts_;
  double width_;      ///< bytes per element beside products
  bool runs_fused_;   ///< attention, in a kernel of its own
  bool native_norm_;  ///< BatchNorm is not cuDNN's
  std::int64_t converted_;
  double weight_element_;  ///< bytes
  double tensor_tflops_;   ///< 0: not on the tensor cores
};

}  // namespace

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::amp:
      return "amp";
    case Precision::bf16:
      return "bf16";
    case Precision::bf16_true:
      return "bf16-true";
  }
  return "";
}

bool is_half(Precision precision) {
  return precision == Precision::amp || precision == Precision::bf16 ||
         precision == Precision::bf16_true;
}

bool casts_weights(Precision precision) {
  return is_half(precision) && precision != Precision::bf16_true;
}

std::int64_t converted_elements(const Layer& layer, Precision precision) {
  if (casts_weights(precision)) return layer.autocast_casts;
  return is_half(precision) ? layer.half_casts : 0;
}

Dtype parameter_dtype(Precision precision) {
  return precision == Precision::bf16_true ? Dtype::bfloat16 : Dtype::float32;
}

std::optional<Precision> precision_from_name(std::string_view name) {
  for (const Precision precision : kPrecisions)
    if (name_of(precision) == name) return precision;
  return std::nullopt;
}

LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting,
                     const LayerCostConstants& constants) {
  return CostModel(layer, setting, constants).cost();
}

LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting) {
  return layer_cost(layer, setting, LayerCostConstants());
}

bool runs_fused(const FusedAttention& attention, const ComputeSetting& setting) {
  constexpr int kHasFlash = 80;
  if (!attention.shares_keys()) return true;
  return is_half(setting.precision) && setting.gpu.compute_capability >= kHasFlash;
}

bool runs_native_batch_norm(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::bf16_true;
}

Optimizer usual_optimizer(SampleKind kind) {
  return kind == SampleKind::image ? Optimizer::momentum : Optimizer::adam;
}

Duration optimizer_cost(const Model& model, const GpuModel& gpu) {
  double elements = 0;
  for (const Parameter& parameter : model.parameters)
    if (!parameter.frozen)
      elements += static_cast<double>(gradient_bytes(parameter)->count()) /
                  static_cast<double>(element_size(parameter.dtype));
  const LayerCostConstants constants;
  const Bytes of_each = bytes_stepped(model.optimizer.value_or(usual_optimizer(model.sample)),
                                      model.fused_optimizer, Bytes(element_size(Dtype::float32)));
  const double bytes = static_cast<double>(of_each.count()) * elements;
  return Duration::seconds(bytes / (layer_bandwidth(gpu).bytes_per_second() * constants.memory *
                                    sustained_by(gpu).memory) +
                           static_cast<double>(optimizer_launches(model, Precision::fp32).kernels) *
                               constants.kernel_us * 1e-6);
}

}  // namespace ddpsim
