#include "model_file_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ddpsim/formats/object_type.hpp"

namespace ddpsim {
namespace {

using FieldKind = ValueType::Kind;

constexpr std::int64_t kMostLayerElements = 1'000'000'000'000;  ///< per sample
constexpr std::int64_t kMostLength = 1'000'000'000;             ///< of one side of a product
constexpr std::int64_t kMostLayerKernels = 1'000'000;
constexpr const char* kTraceAgain = "Trace the module again with ddpsim.estimate";

struct LayerKindWord {
  const char* word;
  LayerKind kind;
};
constexpr std::array kLayerKinds = {
    LayerKindWord{"convolution", LayerKind::convolution},
    LayerKindWord{"linear", LayerKind::linear},
    LayerKindWord{"attention", LayerKind::attention},
    LayerKindWord{"normalization", LayerKind::normalization},
    LayerKindWord{"elementwise", LayerKind::elementwise},
    LayerKindWord{"pooling", LayerKind::pooling},
    LayerKindWord{"embedding", LayerKind::embedding},
};

const ObjectType& product_type() {
  static const auto type =
      ObjectType("ModelProduct", "a matrix product, or a convolution as one")
          .may_have("groups", {FieldKind::integer}, "independent products; default: 1")
          .needs("in", {FieldKind::integer}, "channels that one group reads")
          .needs("out", {FieldKind::integer}, "channels that one group writes")
          .may_have("kernel_height", {FieldKind::integer}, "rows of the kernel; default: 1")
          .may_have("kernel_width", {FieldKind::integer}, "columns of the kernel; default: 1")
          .may_have("stride", {FieldKind::integer}, "the convolution's stride; default: 1")
          .needs("positions_in", {FieldKind::integer}, "pixels or tokens of a sample that it reads")
          .needs("out_height", {FieldKind::integer}, "rows of pixels, or tokens, that it writes")
          .may_have("out_width", {FieldKind::integer}, "columns of pixels; default: 1");
  return type;
}

const ObjectType& fused_type() {
  static const auto type =
      ObjectType("ModelAttention", "scaled_dot_product_attention as one kernel")
          .needs("heads", {FieldKind::integer}, "heads of the queries")
          .needs("features", {FieldKind::integer}, "features of a head")
          .needs("queries", {FieldKind::integer}, "positions that ask")
          .needs("keys", {FieldKind::integer}, "positions that are asked")
          .may_have("key_heads", {FieldKind::integer},
                    "heads of keys and values, which divide `heads`; default: `heads`")
          .may_have("causal", {FieldKind::boolean}, "whether is_causal is True; default: false");
  return type;
}

LayerKind read_kind(const Cursor& cursor) {
  const std::string word = cursor.choice(
      {kLayerKinds[0].word, kLayerKinds[1].word, kLayerKinds[2].word, kLayerKinds[3].word,
       kLayerKinds[4].word, kLayerKinds[5].word, kLayerKinds[6].word});
  return std::ranges::find(kLayerKinds, word,
                           [](const LayerKindWord& one) { return std::string(one.word); })
      ->kind;
}

std::int64_t length_of(const Object& object, const char* key, std::int64_t standard = 1) {
  const auto given = object.optional(key);
  return given ? given->integer(1, kMostLength) : standard;
}

std::int64_t needed_length(const Object& object, const char* key) {
  return object.required(key).integer(1, kMostLength);
}

bool flag_of(const Object& object, const char* key, bool standard) {
  const auto given = object.optional(key);
  return given ? given->boolean() : standard;
}

/// Refuses products whose operands could not be counted in 63 bits.
void require_operands(const Cursor& cursor, std::initializer_list<double> lengths) {
  double elements = 1;
  for (const double length : lengths) elements *= length;
  if (elements > static_cast<double>(kMostLayerElements))
    cursor.fail(fmt::format("an operand has more than {} elements per sample", kMostLayerElements),
                kTraceAgain);
}

Product read_product(const Cursor& cursor, TracedSizes& sizes) {
  const Object object = cursor.object(product_type());
  Product product{.groups = length_of(object, "groups"),
                  .kernel = {.height = length_of(object, "kernel_height"),
                             .width = length_of(object, "kernel_width")},
                  .stride = length_of(object, "stride"),
                  .out_width = length_of(object, "out_width")};
  product.in = needed_length(object, "in");
  product.out = needed_length(object, "out");
  product.positions_in = needed_length(object, "positions_in");
  product.out_height = needed_length(object, "out_height");
  const auto groups = static_cast<double>(product.groups);
  const auto in = static_cast<double>(product.in);
  const auto out = static_cast<double>(product.out);
  require_operands(cursor, {groups, in, static_cast<double>(product.positions_in)});
  require_operands(cursor, {groups, out, static_cast<double>(product.out_height),
                            static_cast<double>(product.out_width)});
  require_operands(cursor, {groups, in, out, static_cast<double>(product.kernel.height),
                            static_cast<double>(product.kernel.width)});
  sizes.operands += product.inputs() + product.groups * product.in * product.out;
  if (sizes.operands > 3 * kMostLayerElements)
    cursor.fail("the operands up to here have too many elements per sample", kTraceAgain);
  return product;
}

std::optional<std::int64_t> stated_size(const Object& object, const char* key) {
  const auto given = object.optional(key);
  if (!given) return std::nullopt;
  return given->integer(0, kMostLayerElements);
}

std::int64_t size_of(const Object& object, const char* key) {
  return stated_size(object, key).value_or(0);
}

FusedAttention read_fused(const Cursor& cursor) {
  const Object object = cursor.object(fused_type());
  const FusedAttention fused{.heads = needed_length(object, "heads"),
                             .features = needed_length(object, "features"),
                             .queries = needed_length(object, "queries"),
                             .keys = needed_length(object, "keys"),
                             .key_heads = length_of(object, "key_heads", 0),
                             .causal = flag_of(object, "causal", false)};
  if (fused.key_heads > 0 && fused.heads % fused.key_heads != 0)
    object.required("key_heads")
        .fail(fmt::format("{} heads cannot share {} heads of keys", fused.heads, fused.key_heads),
              kTraceAgain);
  return fused;
}

int kernels_of(const Object& object, const char* key) {
  const auto given = object.optional(key);
  return given ? static_cast<int>(given->integer(0, kMostLayerKernels)) : 1;
}

std::vector<std::size_t> read_gradients(const Cursor& list, std::span<const Parameter> parameters) {
  std::vector<std::size_t> gradients;
  for (const Cursor& entry : list.array()) {
    const auto index = static_cast<std::size_t>(entry.integer(0, INT64_MAX));
    if (index >= parameters.size())
      entry.fail(fmt::format("there is no parameter {} among {}", index, parameters.size()),
                 kTraceAgain);
    if (std::ranges::count(gradients, index) > 0)
      entry.fail(fmt::format("parameter {} is listed twice", index), kTraceAgain);
    gradients.push_back(index);
  }
  return gradients;
}

}  // namespace

const ObjectType& layer_type() {
  const auto words = [] {
    std::vector<std::string> all;
    for (const LayerKindWord& one : kLayerKinds) all.emplace_back(one.word);
    return all;
  };
  static const auto type =
      ObjectType("ModelLayer", "an operator of the forward pass; sizes are per sample")
          .needs("name", {FieldKind::text}, "the module that ran it, then the operator")
          .needs("kind", word_of(words()), "which part of the cost model times it")
          .may_have("parameters", list_of({FieldKind::integer}),
                    "indices of parameters, in the order its backward writes their gradients")
          .may_have("weights", {FieldKind::integer},
                    "elements of the parameters it reads; default: 0")
          .may_have("product", object_of(product_type()), "the product it computes")
          .may_have("attention", object_of(fused_type()), "the fused attention it computes")
          .may_have("inputs", {FieldKind::integer}, "elements it is given; default: 0")
          .may_have("outputs", {FieldKind::integer}, "elements it gives; default: 0")
          .may_have("sums_branches", {FieldKind::boolean},
                    "whether its gradient goes to two branches; default: false")
          .may_have("forward_elements", {FieldKind::integer},
                    "elements its kernels read and write in forward, without the product's "
                    "operands; default: 0")
          .may_have("backward_elements", {FieldKind::integer}, "the same in backward; default: 0")
          .may_have("forward_kernels", {FieldKind::integer}, "kernels of forward; default: 1")
          .may_have("backward_kernels", {FieldKind::integer}, "kernels of backward; default: 1")
          .may_have("kept_elements", {FieldKind::integer},
                    "elements of its output that stay for backward; default: 0")
          .may_have("kept_autocast_bytes", {FieldKind::integer},
                    "bytes of its output, and of casts of it, that stay under autocast; default: "
                    "four bytes an element that stays if single_precision, else two")
          .may_have("kept_half_bytes", {FieldKind::integer},
                    "the same if parameters are bfloat16; default: two bytes an element")
          .may_have("kept_bytes", {FieldKind::integer},
                    "bytes that stay for backward beside its output; default: 0")
          .may_have("data_gradient", {FieldKind::boolean},
                    "whether its product's input has a gradient; default: true")
          .may_have("reached", {FieldKind::boolean}, "whether backward comes to it; default: true")
          .may_have("trains", {FieldKind::boolean},
                    "whether its weight has a gradient; default: true")
          .may_have("single_precision", {FieldKind::boolean},
                    "whether autocast keeps it in fp32; default: false")
          .may_have("autocast_width", {FieldKind::number},
                    "mean bytes per element that it reads and writes under autocast; default: 4 "
                    "with `single_precision`, else 2")
          .may_have("autocast_casts", {FieldKind::integer},
                    "elements that autocast converts before it; default: 0")
          .may_have("half_casts", {FieldKind::integer},
                    "elements that the module converts if its parameters are half; default: 0")
          .may_have("channels_last", {FieldKind::boolean},
                    "whether its operands are NHWC; default: false");
  return type;
}

Layer read_layer(const Cursor& entry, std::span<const Parameter> parameters, TracedSizes& sizes) {
  const Object object = entry.object(layer_type());
  Layer layer;
  if (const auto list = object.optional("parameters"))
    layer.parameters = read_gradients(*list, parameters);
  if (const auto product = object.optional("product"))
    layer.product = read_product(*product, sizes);
  if (const auto fused = object.optional("attention")) layer.fused = read_fused(*fused);
  layer.weights = size_of(object, "weights");
  layer.inputs = size_of(object, "inputs");
  layer.outputs = size_of(object, "outputs");
  layer.sums_branches = flag_of(object, "sums_branches", false);
  layer.forward_elements = size_of(object, "forward_elements");
  layer.backward_elements = size_of(object, "backward_elements");
  layer.forward_kernels = kernels_of(object, "forward_kernels");
  layer.backward_kernels = kernels_of(object, "backward_kernels");
  layer.kept = size_of(object, "kept_elements");
  layer.kept_bytes = size_of(object, "kept_bytes");
  layer.kept_by_autocast = stated_size(object, "kept_autocast_bytes");
  layer.kept_by_half = stated_size(object, "kept_half_bytes");
  layer.data_gradient = flag_of(object, "data_gradient", true);
  layer.reached = flag_of(object, "reached", true);
  layer.trains = flag_of(object, "trains", true);
  layer.single_precision = flag_of(object, "single_precision", false);
  if (const auto width = object.optional("autocast_width"))
    layer.autocast_width = width->number(2, 4);
  layer.autocast_casts = size_of(object, "autocast_casts");
  layer.half_casts = size_of(object, "half_casts");
  layer.channels_last = flag_of(object, "channels_last", false);
  sizes.kept +=
      std::max({layer.kept, layer.kept_by_autocast.value_or(0), layer.kept_by_half.value_or(0)});
  if (sizes.kept > kMostLayerElements)
    entry.fail("the layers up to here keep too many elements per sample", kTraceAgain);
  layer.kind = read_kind(object.required("kind"));
  layer.name = object.required("name").string();
  return layer;
}

}  // namespace ddpsim
