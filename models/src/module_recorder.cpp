#include "module_recorder.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"
#include "order_of_gradients.hpp"

namespace ddpsim {
namespace {

/// Bytes per element of a sum that reads half precision and fp32, and writes fp32.
constexpr double kHalfAndSingle = 10.0 / 3;

std::int64_t window_places(std::int64_t side, std::int64_t size, std::int64_t stride,
                           std::int64_t padding) {
  return (side + 2 * padding - size) / stride + 1;
}

std::int64_t elements_of(const Parameter& parameter) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : *parameter.shape) count *= dimension;
  return count;
}

}  // namespace

ModuleRecorder::ModuleRecorder(std::string model_name, Activation input, AttentionKernel attention)
    : attention_(attention), activation_(input), given_(input.elements()) {
  model_.name = std::move(model_name);
  activation_.single = true;
}

void ModuleRecorder::define_module(const std::string& name, bool bias) {
  define_parameter(name + ".weight");
  if (bias) define_parameter(name + ".bias");
}

void ModuleRecorder::define_parameter(const std::string& name) {
  ahead_.push_back(model_.parameters.size());
  model_.parameters.emplace_back().name = name;
}

void ModuleRecorder::define_in_order(std::size_t first, const std::string& prefix,
                                     std::string_view order) {
  std::vector<std::string> modules;
  while (!order.empty()) {
    const std::size_t end = std::min(order.find(' '), order.size());
    if (end > 0) modules.push_back(prefix + std::string(order.substr(0, end)));
    order.remove_prefix(std::min(end + 1, order.size()));
  }
  const auto place = [&](const std::string& name) {
    const auto module = std::ranges::find_if(modules, [&](const std::string& path) {
      return name == path || (name.starts_with(path) && name[path.size()] == '.');
    });
    DDPSIM_ASSERT(module != modules.end(), "a parameter has no place in the order of definition",
                  model_.parameters.size());
    return module - modules.begin();
  };
  struct Placed {
    std::ptrdiff_t place;
    std::size_t was;
  };
  std::vector<Placed> sorted;
  for (std::size_t p = first; p < model_.parameters.size(); ++p)
    sorted.push_back({place(model_.parameters[p].name), p});
  std::ranges::stable_sort(sorted, {}, &Placed::place);
  std::vector<Parameter> parameters;
  std::vector<std::size_t> now(sorted.size());
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    parameters.push_back(std::move(model_.parameters[sorted[k].was]));
    now[sorted[k].was - first] = first + k;
  }
  std::move(parameters.begin(), parameters.end(),
            model_.parameters.begin() + static_cast<std::ptrdiff_t>(first));
  for (Layer& layer : model_.layers)
    for (std::size_t& p : layer.parameters)
      if (p >= first) p = now[p - first];
}

void ModuleRecorder::begin_input(const Activation& input) {
  input_begins_ = model_.layers.size();
  model_.other_inputs.push_back({.first = model_.layers.size(), .last = model_.layers.size()});
  continue_from(input);
  activation_.single = true;
}

void ModuleRecorder::end_input() {
  input_begins_.reset();
  model_.other_inputs.back().last = model_.layers.size();
}

void ModuleRecorder::reads_given() {
  Layer& layer = model_.layers.back();
  if (std::exchange(layer.data_gradient, false)) --layer.backward_kernels;
}

void ModuleRecorder::leave_unread(std::size_t first) {
  for (std::size_t k = first; k < model_.layers.size(); ++k) {
    model_.layers[k].reached = false;
    model_.layers[k].kept = model_.layers[k].kept_bytes = 0;
  }
}

void ModuleRecorder::begin_block() {
  model_.blocks.push_back({.first = model_.layers.size(), .last = model_.layers.size()});
}

void ModuleRecorder::end_block() {
  model_.blocks.back().last = model_.layers.size();
}

void ModuleRecorder::conv2d(const std::string& name, const Convolution& convolution) {
  const auto& [out, kernel, stride, padding, groups, bias, one_dimension] = convolution;
  const std::int64_t in = activation_.channels / groups;
  std::vector<std::int64_t> shape = {out, in, kernel.height};
  if (!one_dimension) shape.push_back(kernel.width);
  std::vector<std::size_t> order = {define(name + ".weight", std::move(shape))};
  if (bias) order.push_back(define(name + ".bias", {out}));
  Product product{.groups = groups,
                  .in = in,
                  .out = out / groups,
                  .kernel = kernel,
                  .stride = stride,
                  .positions_in = activation_.positions()};
  product.out_height = window_places(activation_.height, kernel.height, stride, padding.height);
  product.out_width = window_places(activation_.width, kernel.width, stride, padding.width);
  activation_ = {.channels = out,
                 .height = product.out_height,
                 .width = product.out_width,
                 .single = activation_.single};
  Layer& layer = ran(name, LayerKind::convolution, std::move(order));
  layer.data_gradient = !reads_input();
  layer.product = product;
  layer.backward_kernels = layer.data_gradient ? 2 : 1;
  if (bias) {  // separate kernels for forward and backward
    layer.forward_elements = 2 * activation_.elements();
    layer.backward_elements = activation_.elements();
    ++layer.forward_kernels;
    ++layer.backward_kernels;
  }
}

void ModuleRecorder::convolve_rows(const std::string& name, const std::vector<std::int64_t>& weight,
                                   bool bias) {
  addmm(name, weight, weight.front(), bias);
}

void ModuleRecorder::normalized_convolution(const std::string& name,
                                            const Convolution& convolution) {
  const std::string weight = name + "parametrizations.weight.original";
  const std::int64_t in = activation_.channels / convolution.groups;
  const std::size_t length = define(weight + "0", {1, 1, convolution.kernel.height});
  const std::size_t direction =
      define(weight + "1", {convolution.out, in, convolution.kernel.height});
  const std::size_t bias = define(name + "bias", {convolution.out});
  Product product{.groups = convolution.groups,
                  .in = in,
                  .out = convolution.out / convolution.groups,
                  .kernel = convolution.kernel,
                  .positions_in = activation_.positions()};
  product.out_height = activation_.height;
  activation_.channels = convolution.out;
  Layer& layer = ran(name + "conv", LayerKind::convolution, {bias, direction, length});
  layer.product = product;
  layer.backward_kernels = 3;
  layer.forward_elements = 2 * activation_.elements();  // the bias has a kernel of its own
  layer.backward_elements = activation_.elements();
  ++layer.forward_kernels;
}

void ModuleRecorder::batch_norm(const std::string& name) {
  const std::size_t weight = define(name + ".weight", {activation_.channels});
  const std::size_t bias = define(name + ".bias", {activation_.channels});
  model_.parameters[weight].batch_norm = true;
  Layer& layer = ran(name, LayerKind::normalization, {weight, bias});
  layer.forward_elements = 3 * activation_.elements();   // statistics, then x in and y out
  layer.backward_elements = 5 * activation_.elements();  // x and dy twice, dx out
  buffer(Dtype::float32, activation_.channels);          // running_mean
  buffer(Dtype::float32, activation_.channels);          // running_var
  buffer(Dtype::int64);                                  // num_batches_tracked
}

void ModuleRecorder::layer_norm(const std::string& name, bool bias) {
  layer_norm(name, bias, {activation_.channels});
}

void ModuleRecorder::layer_norm(const std::string& name, bool bias,
                                const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> order;
  if (!shape.empty()) order.push_back(define(name + ".weight", shape));
  if (bias) order.push_back(define(name + ".bias", shape));
  Layer& layer = ran(name, LayerKind::normalization, std::move(order));
  layer.forward_elements = 2 * activation_.elements();  // a row stays on chip
  // Reads x and dy for dx, and again for the weights.
  layer.backward_elements = 5 * activation_.elements();
  layer.single_precision = true;
  layer.kept_by_autocast = cast_for_a_product();
  if (!activation_.single) keeps_cast_input();
  stays_single(activation_.single ? 0 : activation_.elements());
}

void ModuleRecorder::rms_norm(const std::string& name) {
  rms_norm(name, {activation_.channels});
}

void ModuleRecorder::rms_norm(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::vector<std::size_t> order;
  if (!shape.empty()) order.push_back(define(name + ".weight", shape));
  Layer& layer = ran(name, LayerKind::normalization, std::move(order));
  // The elements are passes of four bytes. Forward: cast 1.5, square 2, mean 1, product 2, cast
  // 1.5, weight 1. Backward: two gradients of the weight 3, cast 1.5, two gradients of the product
  // and a sum 6, gradient of the square 3, sum of both 3, cast 0.5.
  layer.forward_elements = 9 * activation_.elements();
  layer.backward_elements = 17 * activation_.elements();
  layer.forward_kernels = 8;
  layer.backward_kernels = 13;
  // The cast input is kept; so is the output.
  layer.kept_bytes = 4 * activation_.elements();
  layer.single_precision = true;
  layer.kept_by_autocast = cast_for_a_product();
  // What is fp32 already is not cast.
  if (activation_.single) layer.autocast_width = 3.1;
  stays_single(0);
}

void ModuleRecorder::linear(const std::string& name, std::int64_t out, bool bias) {
  addmm(name, {out, activation_.channels}, out, bias);
}

void ModuleRecorder::matmul(const std::string& parameter, std::int64_t out) {
  product_by(parameter, define(parameter, {activation_.channels, out}), std::nullopt, out);
}

void ModuleRecorder::linear_again(const std::string& name, std::int64_t out, bool bias) {
  const bool before = std::exchange(shares_, true);
  linear(name, out, bias);
  shares_ = before;
}

void ModuleRecorder::with_parameter(const std::string& name, std::vector<std::int64_t> shape) {
  with_cast_parameter(name, std::move(shape));
  Layer& layer = model_.layers.back();
  if (layer.kind != LayerKind::elementwise || activation_.single) return;
  layer.autocast_width = 3;  // half precision and an fp32 parameter give fp32
  activation_.single = true;
}

void ModuleRecorder::with_cast_parameter(const std::string& name, std::vector<std::int64_t> shape) {
  const bool before = std::exchange(shares_, true);
  const std::size_t parameter = define(name, std::move(shape));
  shares_ = before;
  Layer& layer = model_.layers.back();
  layer.parameters.push_back(parameter);
  layer.weights += elements_of(model_.parameters[parameter]);
}

void ModuleRecorder::finish_weight_last() {
  std::vector<std::size_t>& order = model_.layers.back().parameters;
  std::rotate(order.begin(), order.begin() + (order.empty() ? 0 : 1), order.end());
}

void ModuleRecorder::experts(const std::string& weight, std::int64_t count, std::int64_t out,
                             bool input_first) {
  const std::int64_t in = activation_.channels;
  std::vector<std::int64_t> shape = {count, out, in};
  if (input_first) std::swap(shape[1], shape[2]);
  const std::size_t parameter = define(weight, std::move(shape));
  const Product product = product_to(out);
  activation_.channels = out;
  Layer& layer = ran(weight, LayerKind::linear, {parameter});
  layer.product = product;
  layer.backward_kernels = 2;
}

void ModuleRecorder::conv1d_addmm(const std::string& name, std::int64_t out) {
  addmm(name, {activation_.channels, out}, out, true);
}

void ModuleRecorder::addmm(const std::string& name, std::vector<std::int64_t> weight_shape,
                           std::int64_t out, bool bias) {
  const std::size_t weight = define(name + ".weight", std::move(weight_shape));
  product_by(name, weight, bias ? std::optional(define(name + ".bias", {out})) : std::nullopt, out);
}

void ModuleRecorder::linear_of(const std::string& weight, const std::string& bias,
                               std::int64_t out) {
  const std::size_t first = define(weight, {out, activation_.channels});
  product_by(weight, first, define(bias, {out}), out);
}

void ModuleRecorder::product_by(const std::string& name, std::size_t weight,
                                std::optional<std::size_t> bias, std::int64_t out) {
  std::vector<std::size_t> order = {weight};
  if (bias) order.insert(order.begin(), *bias);
  const Product product = product_to(out);
  activation_.channels = out;
  Layer& layer = ran(name, LayerKind::linear, std::move(order));
  layer.product = product;
  layer.data_gradient = !reads_input();
  layer.backward_kernels = layer.data_gradient ? 2 : 1;
  if (!bias) return;
  layer.backward_elements = activation_.elements();  // the bias gradient sums dy
  ++layer.backward_kernels;
}

std::size_t ModuleRecorder::embedding(const std::string& name, std::int64_t rows,
                                      std::int64_t features) {
  return define(name + ".weight", {rows, features});
}

std::size_t ModuleRecorder::table(const std::string& name, std::int64_t rows,
                                  std::int64_t features) {
  return define(name, {rows, features});
}

void ModuleRecorder::look_up(std::size_t embedding) {
  const Parameter& weight = model_.parameters[embedding];
  activation_.channels = weight.shape->back();
  Layer& layer = ran(weight.name, LayerKind::embedding, {embedding});
  layer.forward_elements = 2 * activation_.elements();
  layer.backward_elements = 3 * activation_.elements();  // dy added to its rows
  layer.single_precision = true;
  stays_single(0);
}

void ModuleRecorder::look_up_for_scores(std::size_t embedding, std::int64_t pairs) {
  const Parameter& weight = model_.parameters[embedding];
  Layer& layer = ran(weight.name, LayerKind::embedding, {embedding});
  layer.backward_elements = pairs * weight.shape->back();
  layer.backward_kernels = 2;
  layer.kept = 0;
}

void ModuleRecorder::tied_linear(std::size_t embedding, const std::string& bias) {
  std::vector<std::size_t> order = {embedding};
  if (!bias.empty())
    order.insert(order.begin(), define(bias, {model_.parameters[embedding].shape->front()}));
  const Parameter& weight = model_.parameters[embedding];
  const Product product = product_to(weight.shape->front());
  activation_.channels = weight.shape->front();
  Layer& layer = ran(weight.name + " (output)", LayerKind::linear, std::move(order));
  layer.product = product;
  if (bias.empty()) return;
  layer.backward_elements = activation_.elements();
  layer.backward_kernels = 2;
}

void ModuleRecorder::fairseq_projections(const std::string& name, const Activation& memory) {
  const std::int64_t features = activation_.channels;
  struct Projection {
    std::size_t weight;
    std::size_t bias;
  };
  const auto defined = [&](const char* projection) {
    const std::string module = name + "." + projection;
    return Projection{define(module + ".weight", {features, features}),
                      define(module + ".bias", {features})};
  };
  const Projection k = defined("k_proj");
  const Projection v = defined("v_proj");
  const Projection q = defined("q_proj");
  const Activation query = activation();
  ran(name + ".biases", LayerKind::elementwise, {q.bias, k.bias, v.bias});
  const auto project = [&](const Projection& projection, const Activation& source) {
    activation_ = source;
    const Product product = product_to(features);
    Layer& layer =
        ran(model_.parameters[projection.weight].name, LayerKind::linear, {projection.weight});
    layer.product = product;
    layer.backward_elements = source.elements();
  };
  project(q, query);
  project(k, memory);
  project(v, memory);
  activation_ = query;
}

void ModuleRecorder::attention(const std::string& name, std::int64_t heads, std::int64_t keys) {
  attention(name, {.heads = heads, .keys = keys, .dropout = true});
}

void ModuleRecorder::attention(const std::string& name, const AttentionHeads& shape) {
  if (attention_ == AttentionKernel::eager) return eager_attention(name, shape);
  const std::int64_t key_heads = shape.key_heads > 0 ? shape.key_heads : shape.heads;
  const FusedAttention fused{.heads = shape.heads,
                             .features = activation_.channels / shape.heads,
                             .queries = activation_.positions(),
                             .keys = shape.keys,
                             .key_heads = key_heads,
                             .causal = shape.causal};
  const std::int64_t queries = activation_.elements();
  const std::int64_t keys = key_heads * fused.features * fused.keys;
  Layer& layer = ran(name, LayerKind::attention, {});
  layer.fused = fused;
  layer.inputs = queries + 2 * keys;
  layer.forward_elements = 2 * queries + 2 * keys;  // keys and values are read, the result written
  // Reads the three operands, the result and its gradient. Writes three gradients; that of the
  // queries is summed up in fp32 and cast.
  layer.backward_elements = 9 * queries + 4 * keys;
  layer.backward_kernels = 3;
  layer.kept_bytes = 4 * fused.heads * fused.queries;  // logarithm of each row's sum
}

void ModuleRecorder::eager_attention(const std::string& name, const AttentionHeads& shape) {
  const auto& [heads, keys, key_heads, causal, drops] = shape;
  const Activation query = activation_;
  const std::int64_t head = query.channels / heads;
  const std::int64_t queries = query.positions();
  // Keys and values are repeated for each head that shares them.
  if (key_heads > 0 && key_heads < heads) {
    activation_ = {.channels = 2 * heads * head, .height = keys, .single = query.single};
    elementwise(name + ".repeat", {.forward = 2, .backward = 2, .kernels = 2});
    model_.layers.back().kept -= 2 * key_heads * head * keys;  // the originals are not read again
    continue_from(query);
  }
  score(name + ".scores", heads, head, keys);
  // Scale and mask, then softmax, then dropout.
  elementwise(name + ".scale", {.forward = 4, .backward = 2, .kernels = 2, .kept = 0});
  elementwise(name + ".softmax", {.forward = 2, .backward = 3, .single_precision = true});
  if (drops) dropout(name + ".dropout");
  Product sum{.groups = heads, .in = keys, .out = head, .positions_in = queries};
  sum.out_height = queries;
  const bool weights_are_single = activation_.single;
  activation_ = query;
  activation_.single = weights_are_single;
  ran(name + ".weighted_sum", LayerKind::attention, {}).product = sum;
  free_output();
  elementwise(name + ".heads",
              {.forward = 8, .backward = 8, .kernels = 4});  // copies into and out of heads
}

void ModuleRecorder::score(const std::string& name, std::int64_t heads, std::int64_t features,
                           std::int64_t keys) {
  const std::int64_t queries = activation_.positions();
  Product scores{.groups = heads, .in = features, .out = keys, .positions_in = queries};
  scores.out_height = queries;
  activation_ = {.channels = heads * keys, .height = queries, .single = activation_.single};
  ran(name, LayerKind::attention, {}).product = scores;
  free_output();
}

void ModuleRecorder::rotate_positions(const std::string& name, std::int64_t features,
                                      std::int64_t whole) {
  const Activation before = activation_;
  activation_.channels = features;
  // Five kernels each for queries and for keys: a product with the cosine, a negated half, a join of
  // the halves, a product with the sine, and a sum.
  elementwise(name, {.forward = 10, .backward = 10, .kernels = 10});
  Layer& layer = model_.layers.back();
  layer.kept = whole * before.positions();
  // The cosine is fp32, so the rotated heads are too, until attention casts them back.
  layer.autocast_width = 3;
  layer.autocast_casts = layer.kept;
  if (whole > features) {  // joined: read and written, forward and backward
    layer.forward_elements += 2 * whole * before.positions();
    layer.backward_elements += 2 * whole * before.positions();
    layer.forward_kernels += 2;
    layer.backward_kernels += 2;
  }
  continue_from(before);
}

void ModuleRecorder::used_by(int modules) {
  sums_gradients(modules);
  read_by_products(modules);
}

void ModuleRecorder::sums_gradients(int uses) {
  Layer& layer = model_.layers.back();
  layer.backward_elements += 3 * (uses - 1) * layer.outputs;
  layer.backward_kernels += uses - 1;
}

void ModuleRecorder::read_by_products(int products) {
  Layer& layer = model_.layers.back();
  if (layer.kept_by_autocast) *layer.kept_by_autocast += (products - 1) * cast_for_a_product();
}

void ModuleRecorder::keeps_cast_input() {
  Layer& layer = model_.layers.back();
  *layer.kept_by_autocast += element_size(Dtype::float32) * layer.inputs;
  if (!follows_last_) return;
  Layer& before = model_.layers[model_.layers.size() - 2];
  if (before.product || before.sums_branches) before.kept_by_autocast = 0;
}

std::int64_t ModuleRecorder::cast_for_a_product() const {
  return element_size(Dtype::float16) * activation_.elements();
}

void ModuleRecorder::gelu_written_out(const std::string& name) {
  // Autocast casts the input to fp32 for the cube, and what follows stays fp32. The input itself,
  // its half, and the cast for the next product have two bytes.
  model_.layers.back().kept_by_autocast = 0;
  elementwise(name, {.forward = 18, .backward = 24, .kernels = 8, .kept = 4});
  Layer& layer = model_.layers.back();
  layer.kept_by_autocast = (4 + 2 + 4 + 4 + 2) * activation_.elements();
  layer.autocast_width = 3.6;
  activation_.single = true;
}

void ModuleRecorder::elementwise(const std::string& name, Passes passes) {
  Layer& layer = ran(name, LayerKind::elementwise, {});
  layer.forward_elements = passes.forward * activation_.elements();
  layer.backward_elements = passes.backward * activation_.elements();
  layer.forward_kernels = passes.kernels;
  layer.backward_kernels = passes.backward > 0 ? passes.kernels : 0;
  layer.single_precision = passes.single_precision;
  if (activation_.single) layer.autocast_width = 4;
  if (passes.single_precision && !activation_.single) layer.autocast_casts = activation_.elements();
  if (passes.single_precision) activation_.single = true;
  layer.kept = passes.kept * activation_.elements();
}

void ModuleRecorder::dropout(const std::string& name) {
  // Backward of dropout reads only its mask. Activation functions and softmax read their own
  // output.
  if (model_.layers.back().kind != LayerKind::elementwise) free_output();
  elementwise(name, {.forward = 2, .backward = 2});
  model_.layers.back().kept_bytes = activation_.elements();
}

void ModuleRecorder::add(const std::string& name, const Activation& branch) {
  free_output();
  elementwise(name, {.forward = 3, .backward = 3});
  sums_with(branch);
}

void ModuleRecorder::add_in_place(const std::string& name, const Activation& branch) {
  elementwise(name, {.forward = 3, .backward = 3, .kept = 0});
  sums_with(branch);
}

void ModuleRecorder::sums_with(const Activation& branch) {
  Layer& layer = model_.layers.back();
  layer.sums_branches = true;
  if (!branch.single && !activation_.single) return;
  if (branch.single != activation_.single) layer.autocast_width = kHalfAndSingle;
  layer.kept_by_autocast = element_size(Dtype::float32) * layer.kept;
  activation_.single = true;
}

void ModuleRecorder::stays_single(std::int64_t converted) {
  model_.layers.back().autocast_casts = converted;
  activation_.single = true;
}

void ModuleRecorder::max_pool(const std::string& name, const Window& window) {
  pool(name, window, 2);  // index of each maximum, eight bytes
}

void ModuleRecorder::average_pool(const std::string& name, const Window& window) {
  pool(name, window, 0);
}

void ModuleRecorder::adaptive_average_pool(const std::string& name, std::int64_t side) {
  const std::int64_t size = activation_.height / side;
  if (size > 1) average_pool(name, {.size = size, .stride = size});
  activation_.height = side;
  activation_.width = side;
}

/// Each output reads its window. Backward spreads its gradient over the window, which reads and
/// writes.
void ModuleRecorder::pool(const std::string& name, const Window& window,
                          std::int64_t index_elements) {
  activation_.height =
      window_places(activation_.height, window.size, window.stride, window.padding);
  activation_.width = window_places(activation_.width, window.size, window.stride, window.padding);
  Layer& layer = ran(name, LayerKind::pooling, {});
  const std::int64_t places = window.size * window.size;
  layer.forward_elements = (places + 1 + index_elements) * activation_.elements();
  layer.backward_elements = (2 * places + 1 + index_elements) * activation_.elements();
  layer.kept_bytes = 4 * index_elements * activation_.elements();
}

void ModuleRecorder::concatenate(const std::string& name, std::int64_t channels) {
  activation_.channels = channels;
  elementwise(name, {.forward = 2, .backward = 2});
}

void ModuleRecorder::buffer(Dtype dtype, std::int64_t elements) {
  auto group = std::ranges::find(model_.buffers, dtype, &BufferGroup::dtype);
  if (group == model_.buffers.end())
    group = model_.buffers.insert(group, {.dtype = dtype, .bytes = {}, .tensors = 0});
  group->bytes += Bytes(elements * element_size(dtype));
  ++group->tensors;
}

void ModuleRecorder::buffers_as_in(std::string library) {
  model_.buffers_as_in = std::move(library);
}

Model ModuleRecorder::finish() && {
  DDPSIM_ASSERT(ahead_.empty(), "a module was defined and never ran", ahead_.size());
  model_.ready_order = order_of_gradients(model_);
  return std::move(model_);
}

std::size_t ModuleRecorder::define(std::string name, std::vector<std::int64_t> shape) {
  const auto ahead = std::ranges::find_if(
      ahead_, [&](std::size_t index) { return model_.parameters[index].name == name; });
  if (ahead != ahead_.end()) {
    const std::size_t index = *ahead;
    model_.parameters[index].shape = std::move(shape);
    ahead_.erase(ahead);
    return index;
  }
  if (shares_) {
    const auto known = std::ranges::find(model_.parameters, name, &Parameter::name);
    if (known != model_.parameters.end())
      return static_cast<std::size_t>(known - model_.parameters.begin());
  }
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  model_.parameters.push_back(std::move(parameter));
  return model_.parameters.size() - 1;
}

Layer& ModuleRecorder::ran(const std::string& name, LayerKind kind,
                           std::vector<std::size_t> gradient_order) {
  Layer layer;
  layer.name = name;
  layer.kind = kind;
  for (const std::size_t parameter : gradient_order)
    layer.weights += elements_of(model_.parameters[parameter]);
  layer.parameters = std::move(gradient_order);
  layer.kept = activation_.elements();
  layer.inputs = given_;
  follows_last_ = given_by_last_;
  given_by_last_ = true;
  layer.outputs = activation_.elements();
  if (kind == LayerKind::convolution || kind == LayerKind::linear || kind == LayerKind::attention) {
    if (activation_.single) casts_for(layer);
    activation_.single = false;
  }
  given_ = activation_.elements();
  model_.layers.push_back(std::move(layer));
  return model_.layers.back();
}

void ModuleRecorder::casts_for(Layer& product) {
  product.autocast_casts = given_;
  if (model_.layers.empty()) return;
  Layer& before = model_.layers.back();
  if (before.sums_branches && before.outputs == given_)
    before.kept_by_autocast = element_size(Dtype::float16) * before.kept;
}

Product ModuleRecorder::product_to(std::int64_t out) const {
  Product product{.in = activation_.channels, .out = out, .positions_in = activation_.positions()};
  product.out_height = activation_.height;
  product.out_width = activation_.width;
  return product;
}

}  // namespace ddpsim
