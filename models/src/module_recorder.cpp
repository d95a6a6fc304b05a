#include "module_recorder.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {
namespace {

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

ModuleRecorder::ModuleRecorder(std::string model_name, Activation input)
    : activation_(input), given_(input.elements()) {
  model_.name = std::move(model_name);
}

void ModuleRecorder::conv2d(const std::string& name, const Convolution& convolution) {
  const auto& [out, kernel, stride, padding, groups, bias] = convolution;
  const std::int64_t in = activation_.channels / groups;
  std::vector<std::size_t> order = {
      define(name + ".weight", {out, in, kernel.height, kernel.width})};
  if (bias) order.push_back(define(name + ".bias", {out}));
  Product product{.groups = groups,
                  .in = in,
                  .out = out / groups,
                  .kernel = kernel,
                  .stride = stride,
                  .positions_in = activation_.positions()};
  product.out_height = window_places(activation_.height, kernel.height, stride, padding.height);
  product.out_width = window_places(activation_.width, kernel.width, stride, padding.width);
  activation_ = {.channels = out, .height = product.out_height, .width = product.out_width};
  Layer& layer = ran(name, LayerKind::convolution, std::move(order));
  layer.data_gradient = model_.layers.size() > 1;
  layer.product = product;
  layer.backward_kernels = layer.data_gradient ? 2 : 1;
  if (bias) {  // added, and summed up in backward, by kernels of their own
    layer.forward_elements = 2 * activation_.elements();
    layer.backward_elements = activation_.elements();
    ++layer.forward_kernels;
    ++layer.backward_kernels;
  }
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

void ModuleRecorder::layer_norm(const std::string& name) {
  const std::size_t weight = define(name + ".weight", {activation_.channels});
  const std::size_t bias = define(name + ".bias", {activation_.channels});
  Layer& layer = ran(name, LayerKind::normalization, {weight, bias});
  layer.forward_elements = 2 * activation_.elements();   // a row stays on chip
  layer.backward_elements = 5 * activation_.elements();  // x and dy for dx, again for the weights
  layer.single_precision = true;
}

void ModuleRecorder::linear(const std::string& name, std::int64_t out) {
  addmm(name, {out, activation_.channels}, out);
}

void ModuleRecorder::conv1d_addmm(const std::string& name, std::int64_t out) {
  addmm(name, {activation_.channels, out}, out);
}

void ModuleRecorder::addmm(const std::string& name, std::vector<std::int64_t> weight_shape,
                           std::int64_t out) {
  const std::size_t weight = define(name + ".weight", std::move(weight_shape));
  const std::size_t bias = define(name + ".bias", {out});
  const Product product = product_to(out);
  activation_.channels = out;
  Layer& layer = ran(name, LayerKind::linear, {bias, weight});
  layer.product = product;
  layer.backward_elements = activation_.elements();  // the bias gradient sums dy
  layer.backward_kernels = 3;
}

std::size_t ModuleRecorder::embedding(const std::string& name, std::int64_t rows,
                                      std::int64_t features) {
  return define(name + ".weight", {rows, features});
}

void ModuleRecorder::look_up(std::size_t embedding) {
  const Parameter& weight = model_.parameters[embedding];
  activation_.channels = weight.shape->back();
  Layer& layer = ran(weight.name, LayerKind::embedding, {embedding});
  layer.forward_elements = 2 * activation_.elements();
  layer.backward_elements = 3 * activation_.elements();  // dy added to its rows
  layer.single_precision = true;
}

void ModuleRecorder::tied_linear(std::size_t embedding) {
  const Parameter& weight = model_.parameters[embedding];
  const Product product = product_to(weight.shape->front());
  activation_.channels = weight.shape->front();
  Layer& layer = ran(weight.name + " (output)", LayerKind::linear, {embedding});
  layer.product = product;
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
  const Activation query = activation_;
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
  const Activation query = activation_;
  const std::int64_t head = query.channels / heads;
  const std::int64_t queries = query.positions();
  Product scores{.groups = heads, .in = head, .out = keys, .positions_in = queries};
  scores.out_height = queries;
  activation_ = {.channels = heads * keys, .height = queries};
  ran(name + ".scores", LayerKind::attention, {}).product = scores;
  free_output();
  // Scale and mask, then softmax, then dropout.
  elementwise(name + ".scale", {.forward = 4, .backward = 2, .kernels = 2, .kept = 0});
  elementwise(name + ".softmax", {.forward = 2, .backward = 3, .single_precision = true});
  dropout(name + ".dropout");
  Product sum{.groups = heads, .in = keys, .out = head, .positions_in = queries};
  sum.out_height = queries;
  activation_ = query;
  ran(name + ".weighted_sum", LayerKind::attention, {}).product = sum;
  free_output();
  elementwise(name + ".heads",
              {.forward = 8, .backward = 8, .kernels = 4});  // copies into and out of heads
}

void ModuleRecorder::elementwise(const std::string& name, Passes passes) {
  Layer& layer = ran(name, LayerKind::elementwise, {});
  layer.forward_elements = passes.forward * activation_.elements();
  layer.backward_elements = passes.backward * activation_.elements();
  layer.forward_kernels = passes.kernels;
  layer.backward_kernels = passes.kernels;
  layer.single_precision = passes.single_precision;
  layer.kept = passes.kept * activation_.elements();
}

void ModuleRecorder::dropout(const std::string& name) {
  // Its backward reads its mask alone; activation functions and softmax read what they gave.
  if (model_.layers.back().kind != LayerKind::elementwise) free_output();
  elementwise(name, {.forward = 2, .backward = 2});
  model_.layers.back().kept_bytes = activation_.elements();
}

void ModuleRecorder::add(const std::string& name) {
  free_output();
  elementwise(name, {.forward = 3, .backward = 3});
  model_.layers.back().sums_branches = true;
}

void ModuleRecorder::max_pool(const std::string& name, const Window& window) {
  pool(name, window, 2);  // the place of each maximum, eight bytes
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

/// Each output reads its window; backward spreads it again, reading and writing.
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
  std::vector<int> uses_left(model_.parameters.size());
  for (const Layer& layer : model_.layers) {
    for (const std::size_t parameter : layer.parameters) ++uses_left[parameter];
  }
  for (auto layer = model_.layers.rbegin(); layer != model_.layers.rend(); ++layer) {
    for (const std::size_t parameter : layer->parameters) {
      if (--uses_left[parameter] == 0) model_.ready_order.push_back(parameter);
    }
  }
  return std::move(model_);
}

std::size_t ModuleRecorder::define(std::string name, std::vector<std::int64_t> shape) {
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
  layer.outputs = given_ = activation_.elements();
  model_.layers.push_back(std::move(layer));
  return model_.layers.back();
}

Product ModuleRecorder::product_to(std::int64_t out) const {
  Product product{.in = activation_.channels, .out = out, .positions_in = activation_.positions()};
  product.out_height = activation_.height;
  product.out_width = activation_.width;
  return product;
}

}  // namespace ddpsim
