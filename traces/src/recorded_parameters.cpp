#include "recorded_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "model_fit.hpp"

namespace ddpsim {
namespace {

Bytes sum(const std::vector<Bytes>& sizes) {
  Bytes total;
  for (const Bytes bytes : sizes) total += bytes;
  return total;
}

class Assignment {
 public:
  Assignment(const RecordedStep& step, const std::string& file) : step_(step), file_(file) {
    shapes_recorded_ =
        std::all_of(step.gradients.begin(), step.gradients.end(),
                    [](const RecordedGradient& gradient) { return gradient.tensor != nullptr; });
  }

  RecordedParameters run(const std::string& asked) {
    note_ignored();
    if (std::optional<Model> model = asked.empty() ? fitting_model() : asked_model(asked)) {
      result_.shapes_from = source_of(*model);
      result_.parameters = std::move(model->parameters);
      result_.buffers = std::move(model->buffers);
      result_.ready_order = std::move(model->ready_order);
      take_recorded_types();
    } else {
      take_recorded();
    }
    return std::move(result_);
  }

 private:
  std::size_t count() const { return step_.gradients.size(); }

  /// Marks gradients outside DDP: those that stayed undefined, and those after the reducer's last
  /// all-reduce. This is only accepted if the other gradients fill the recorded buckets exactly.
  void note_ignored() {
    ignored_.assign(count(), false);
    if (!shapes_recorded_) return;
    Bytes in_ddp;
    std::vector<bool> late(count());
    for (std::size_t k = 0; k < count(); ++k) {
      const RecordedGradient& gradient = step_.gradients[k];
      ignored_[k] = !gradient.tensor->dtype;
      late[k] = step_.last_bucket_ns && gradient.host_ns > *step_.last_bucket_ns;
      if (!late[k] && !ignored_[k]) in_ddp += bytes_of(*gradient.tensor).value_or(Bytes());
    }
    const Bytes buckets = sum(step_.bucket_bytes);
    if (step_.bucket_bytes.empty()) return;
    if (in_ddp == buckets) {
      for (std::size_t k = 0; k < count(); ++k) ignored_[k] = ignored_[k] || late[k];
    } else {
      result_.warnings.push_back(
          fmt::format("the recorded buckets hold {} bytes, but the gradients before the last of "
                      "them hold {}, so it is uncertain which parameters are under DDP",
                      buckets.count(), in_ddp.count()));
    }
    const auto outside = std::count(ignored_.begin(), ignored_.end(), true);
    if (outside > 0) {
      result_.recognised.push_back(fmt::format(
          "{} of {} gradients are outside DDP: undefined, or later than the last bucket", outside,
          count()));
    }
  }

  Model asked_model(const std::string& asked) {
    Model model = named_model(asked, count(), file_);
    for (std::size_t k = 0; shapes_recorded_ && k < count(); ++k) {
      const auto& shape = model.parameters[model.ready_order[k]].shape;
      if (shape == step_.gradients[k].tensor->shape) continue;
      throw InputError(
          {file_, "",
           fmt::format("gradient {} was recorded with shape [{}], but {} has {} [{}] there", k,
                       fmt::join(step_.gradients[k].tensor->shape, ", "), asked,
                       model.parameters[model.ready_order[k]].name, fmt::join(shape.value(), ", ")),
           "Leave out --model: the shapes are recorded"});
    }
    result_.recognised.push_back(fmt::format("shapes of {}, as asked", model.name));
    if (!step_.bucket_bytes.empty() && !buckets_fit(model, buckets_in_float32())) {
      result_.warnings.push_back(
          fmt::format("the recorded bucket bytes do not fit {} in ready order; its shapes may be "
                      "wrong for this recording",
                      model.name));
    }
    return model;
  }

  std::optional<Model> fitting_model() {
    if (shapes_recorded_) {
      std::vector<std::vector<std::int64_t>> shapes;
      for (const RecordedGradient& gradient : step_.gradients) {
        shapes.push_back(gradient.tensor->shape);
      }
      std::optional<Model> model = model_of_shapes(shapes);
      if (model) {
        result_.recognised.push_back(fmt::format(
            "the {} recorded shapes are those of {}, in ready order", count(), model->name));
      }
      return model;
    }
    fitting_ = fitting_models(count(), buckets_in_float32());
    if (fitting_.size() != 1) return std::nullopt;
    result_.recognised.push_back(
        fmt::format("shapes are not recorded; used those of {}: it has {} gradients{}",
                    fitting_.front(), count(),
                    step_.bucket_bytes.empty() ? " (no bucket bytes are recorded to check it by)"
                                               : ", and the recorded buckets end exactly at them"));
    return find_model(fitting_.front());
  }

  bool reduced_in_16_bits() const {
    return step_.reduced == Dtype::float16 || step_.reduced == Dtype::bfloat16;
  }

  /// Sizes of the recorded buckets if gradients had the catalogue's type.
  std::vector<Bytes> buckets_in_float32() const {
    std::vector<Bytes> buckets = step_.bucket_bytes;
    if (reduced_in_16_bits())
      for (Bytes& bytes : buckets) bytes = bytes * 2;
    return buckets;
  }

  /// The catalogue knows only shapes; the recording shows the types of this job's gradients. Each
  /// gradient gets the type of its recorded tensor, otherwise that of the all-reduces.
  void take_recorded_types() {
    for (std::size_t k = 0; k < count(); ++k) {
      Dtype& dtype = result_.parameters[result_.ready_order[k]].dtype;
      const RecordedTensor* tensor = step_.gradients[k].tensor;
      if (tensor != nullptr) dtype = tensor->dtype.value_or(dtype);
      if (tensor == nullptr && reduced_in_16_bits()) dtype = *step_.reduced;
    }
  }

  /// Without a model, gradients cannot be assigned to parameters. The definition order is assumed
  /// to be the reverse of the gradients' order.
  void take_recorded() {
    result_.order = ParameterOrder::assumed;
    result_.parameters.resize(count());
    for (std::size_t k = 0; k < count(); ++k) {
      const std::size_t index = count() - 1 - k;
      Parameter& parameter = result_.parameters[index];
      parameter.name = fmt::format("parameter_{}", index);
      parameter.ignored = ignored_[k];
      result_.ready_order.push_back(index);
      const RecordedTensor* tensor = step_.gradients[k].tensor;
      if (tensor == nullptr || !tensor->dtype) continue;
      parameter.shape = tensor->shape;
      parameter.dtype = *tensor->dtype;
    }
    if (shapes_recorded_) {
      result_.shapes_from = "recorded";
      result_.warnings.push_back(
          fmt::format("no bundled model has these {} shapes, so parameters are numbered, and their "
                      "definition order is assumed to be the reverse of the gradients' order",
                      count()));
    } else if (fitting_.empty()) {
      result_.warnings.push_back(
          fmt::format("shapes are not recorded, and no bundled model fits {} gradients{}. They "
                      "stay unknown unless you name the model with --model",
                      count(), step_.bucket_bytes.empty() ? "" : " and these buckets"));
    } else {
      result_.warnings.push_back(
          fmt::format("shapes are not recorded and stay unknown, because {} all have {} gradients. "
                      "Name the recorded model with --model",
                      fmt::join(fitting_, ", "), count()));
    }
  }

  const RecordedStep& step_;
  const std::string& file_;
  bool shapes_recorded_ = false;
  std::vector<bool> ignored_;         ///< by gradient
  std::vector<std::string> fitting_;  ///< models with this number of gradients
  RecordedParameters result_;
};

}  // namespace

RecordedParameters recorded_parameters(const RecordedStep& step, const std::string& model,
                                       const std::string& file) {
  return Assignment(step, file).run(model);
}

}  // namespace ddpsim
