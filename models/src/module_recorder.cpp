#include "module_recorder.hpp"

#include <utility>

namespace ddpsim {

ModuleRecorder::ModuleRecorder(std::string model_name) {
  model_.name = std::move(model_name);
}

void ModuleRecorder::conv2d(const std::string& name, std::int64_t in, std::int64_t out,
                            std::int64_t kernel, std::int64_t groups) {
  ran({define(name + ".weight", {out, in / groups, kernel, kernel})});
}

void ModuleRecorder::conv2d(const std::string& name, std::int64_t in, std::int64_t out,
                            Kernel kernel) {
  ran({define(name + ".weight", {out, in, kernel.height, kernel.width})});
}

void ModuleRecorder::conv2d_with_bias(const std::string& name, std::int64_t in, std::int64_t out,
                                      std::int64_t kernel) {
  const std::size_t weight = define(name + ".weight", {out, in, kernel, kernel});
  const std::size_t bias = define(name + ".bias", {out});
  ran({weight, bias});
}

void ModuleRecorder::batch_norm(const std::string& name, std::int64_t channels) {
  const std::size_t weight = define(name + ".weight", {channels});
  const std::size_t bias = define(name + ".bias", {channels});
  ran({weight, bias});
  running_elements_ += 2 * channels;  // running_mean and running_var
  ++batch_norms_;
}

void ModuleRecorder::layer_norm(const std::string& name, std::int64_t features) {
  const std::size_t weight = define(name + ".weight", {features});
  const std::size_t bias = define(name + ".bias", {features});
  ran({weight, bias});
}

void ModuleRecorder::linear(const std::string& name, std::int64_t in, std::int64_t out) {
  const std::size_t weight = define(name + ".weight", {out, in});
  const std::size_t bias = define(name + ".bias", {out});
  ran({bias, weight});
}

void ModuleRecorder::conv1d_addmm(const std::string& name, std::int64_t in, std::int64_t out) {
  const std::size_t weight = define(name + ".weight", {in, out});
  const std::size_t bias = define(name + ".bias", {out});
  ran({bias, weight});
}

std::size_t ModuleRecorder::embedding(const std::string& name, std::int64_t rows,
                                      std::int64_t features) {
  return define(name + ".weight", {rows, features});
}

void ModuleRecorder::look_up(std::size_t embedding) {
  ran({embedding});
}

void ModuleRecorder::tied_linear(std::size_t embedding) {
  ran({embedding});
}

Model ModuleRecorder::finish() && {
  std::vector<int> uses_left(model_.parameters.size());
  for (const auto& module : execution_) {
    for (const std::size_t parameter : module) ++uses_left[parameter];
  }
  for (auto module = execution_.rbegin(); module != execution_.rend(); ++module) {
    for (const std::size_t parameter : *module) {
      if (--uses_left[parameter] == 0) model_.ready_order.push_back(parameter);
    }
  }
  if (batch_norms_ > 0) {
    model_.buffers = {
        {.dtype = Dtype::float32,
         .bytes = Bytes(running_elements_ * element_size(Dtype::float32)),
         .tensors = 2 * batch_norms_},
        {.dtype = Dtype::int64,  // num_batches_tracked, a scalar each
         .bytes = Bytes(batch_norms_ * element_size(Dtype::int64)),
         .tensors = batch_norms_},
    };
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

void ModuleRecorder::ran(std::vector<std::size_t> gradient_order) {
  execution_.push_back(std::move(gradient_order));
}

}  // namespace ddpsim
