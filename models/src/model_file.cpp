#include "ddpsim/models/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/formats/quote.hpp"
#include "model_file_layers.hpp"
#include "order_of_gradients.hpp"

namespace ddpsim {
namespace {

using DocumentKind = ValueType::Kind;

constexpr std::size_t kMostTraced = 1'000'000;  ///< parameters, layers, blocks
constexpr std::int64_t kMostTracedBatch = 1'000'000;
constexpr const char* kTraceItAgain = "Trace the module again with ddpsim.estimate";

std::vector<std::string> sample_words() {
  return {"image", "sequence", "other"};
}

std::vector<std::string> optimizer_words() {
  std::vector<std::string> words;
  for (const Optimizer optimizer : kOptimizers) words.emplace_back(word_of(optimizer));
  return words;
}

std::vector<std::string> dtype_words() {
  std::vector<std::string> words;
  for (int dtype = 0; dtype <= static_cast<int>(Dtype::complex128); ++dtype)
    words.emplace_back(name_of(static_cast<Dtype>(dtype)));
  return words;
}

const ObjectType& parameter_type() {
  static const auto type =
      ObjectType("ModelParameter", "a parameter of the module")
          .needs("name", {DocumentKind::text}, "the parameter's name; names are unique")
          .needs("shape", list_of({DocumentKind::integer}),
                 "the parameter's lengths; [] is a scalar")
          .may_have("dtype", word_of(dtype_words()),
                    "PyTorch's name of the dtype; default: \"float32\", which bf16-true narrows")
          .may_have("batch_norm", {DocumentKind::boolean},
                    "whether it is the weight of a BatchNorm; default: false")
          .may_have("frozen", {DocumentKind::boolean},
                    "whether requires_grad is False; default: false");
  return type;
}

const ObjectType& buffer_type() {
  static const auto type =
      ObjectType("ModelBuffer", "module buffers of a dtype")
          .needs("dtype", word_of(dtype_words()), "PyTorch's name of it")
          .needs("bytes", {DocumentKind::integer}, "what the buffers hold together")
          .needs("tensors", {DocumentKind::integer}, "how many buffers there are");
  return type;
}

const ObjectType& block_type() {
  static const auto type =
      ObjectType("ModelBlock", "layers that checkpointing runs again together")
          .needs("first", {DocumentKind::integer}, "index of its first layer")
          .needs("last", {DocumentKind::integer}, "index one past its last layer");
  return type;
}

/// Reads the document into a Model. Where it stands, every index and size is checked.
class ModelFileReader {
 public:
  explicit ModelFileReader(const Object& root) : root_(root) {}

  Model read() {
    if (const auto list = root_.optional("parameters")) read_parameters(*list);
    if (const auto list = root_.optional("buffers")) read_buffers(*list);
    if (const auto list = root_.optional("layers")) read_layers(*list);
    if (const auto list = root_.optional("blocks")) read_blocks(*list);
    read_step();
    root_.required("parameters");
    const Cursor layers = root_.required("layers");
    model_.ready_order = order_of_gradients(model_);
    if (model_.ready_order.empty())
      layers.fail("backward writes no parameter's gradient",
                  "Trace a module whose loss depends on a parameter that trains");
    return std::move(model_);
  }

 private:
  static std::vector<Cursor> entries_of(const Cursor& list, const char* what) {
    std::vector<Cursor> entries = list.array();
    if (entries.size() > kMostTraced)
      list.fail(fmt::format("has {} {}; at most {} are read", entries.size(), what, kMostTraced));
    return entries;
  }

  void read_parameters(const Cursor& list) {
    std::set<std::string> names;
    std::int64_t total = 0;
    for (const Cursor& entry : entries_of(list, "parameters")) {
      const Parameter& parameter = model_.parameters.emplace_back(read_parameter(entry));
      const auto bytes = gradient_bytes(parameter);
      if (!bytes || __builtin_add_overflow(total, bytes->count(), &total))
        entry.fail("the gradients up to here need more than 2^63 - 1 bytes", kTraceItAgain);
      if (!names.insert(parameter.name).second)
        entry.fail(fmt::format("{} is another parameter's name too", in_quotes(parameter.name)),
                   kTraceItAgain);
    }
  }

  static Dtype read_dtype(const Cursor& dtype) {
    return *dtype_from_name(dtype.choice(dtype_words()));
  }

  static Parameter read_parameter(const Cursor& entry) {
    const Object object = entry.object(parameter_type());
    Parameter parameter;
    if (const auto shape = object.optional("shape")) {
      parameter.shape.emplace();
      for (const Cursor& length : shape->array())
        parameter.shape->push_back(length.integer(0, INT64_MAX));
    }
    if (const auto dtype = object.optional("dtype")) parameter.dtype = read_dtype(*dtype);
    if (const auto norm = object.optional("batch_norm")) parameter.batch_norm = norm->boolean();
    if (const auto frozen = object.optional("frozen")) parameter.frozen = frozen->boolean();
    if (parameter.batch_norm && parameter.shape && parameter.shape->size() != 1)
      entry.fail("the weight of a BatchNorm has one length", kTraceItAgain);
    parameter.name = object.required("name").string();
    object.required("shape");
    return parameter;
  }

  void read_buffers(const Cursor& list) {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
    for (const Cursor& entry : entries_of(list, "dtypes")) {
      const Object object = entry.object(buffer_type());
      BufferGroup group;
      const Cursor dtype = object.required("dtype");
      group.dtype = read_dtype(dtype);
      if (std::ranges::count(model_.buffers, group.dtype, &BufferGroup::dtype) > 0)
        dtype.fail(fmt::format("{} is listed twice", in_quotes(dtype.string())), kTraceItAgain);
      group.bytes = Bytes(object.required("bytes").integer(0, kMostBytes));
      group.tensors = object.required("tensors").integer(1, kMostTracedBatch);
      model_.buffers.push_back(group);
    }
  }

  void read_layers(const Cursor& list) {
    TracedSizes sizes;
    for (const Cursor& entry : entries_of(list, "layers"))
      model_.layers.push_back(read_layer(entry, model_.parameters, sizes));
  }

  void read_blocks(const Cursor& list) {
    const auto layers = static_cast<std::int64_t>(model_.layers.size());
    std::int64_t least = 0;
    for (const Cursor& entry : entries_of(list, "blocks")) {
      const Object object = entry.object(block_type());
      const std::int64_t first = object.required("first").integer(least, INT64_MAX);
      const Cursor end = object.required("last");
      const std::int64_t last = end.integer(first + 1, INT64_MAX);
      if (last > layers)
        end.fail(fmt::format("the block ends behind the last of {} layers", layers), kTraceItAgain);
      model_.blocks.push_back({static_cast<std::size_t>(first), static_cast<std::size_t>(last)});
      least = last;
    }
  }

  void read_step() {
    if (const auto optimizer = root_.optional("optimizer"))
      model_.optimizer = optimizer_from_word(optimizer->choice(optimizer_words()));
    if (const auto fused = root_.optional("fused_optimizer"))
      model_.fused_optimizer = fused->boolean();
  }

  const Object& root_;
  Model model_;
};

void require_schema(const Cursor& root) {
  const auto schema = root.free_object().optional("schema");
  if (!schema)
    root.fail(fmt::format("missing \"schema\"; expected \"{}\"", kModelSchema), kTraceItAgain);
  if (schema->string() != kModelSchema)
    schema->fail(fmt::format("{} is another version of a traced model; this one reads \"{}\"",
                             in_quotes(schema->string()), kModelSchema),
                 kTraceItAgain);
}

/// What the samples are, how many a GPU takes, and what the trace says of itself.
ModelDescription read_description(const Object& root) {
  ModelDescription description;
  description.traced = true;
  if (const auto sample = root.optional("sample"))
    description.sample =
        sample->choice(sample_words()) == "sequence" ? SampleKind::sequence : SampleKind::image;
  if (const auto size = root.optional("sample_size"))
    description.usual_size = size->integer(1, INT32_MAX);
  if (const auto checkpointed = root.optional("checkpointed"))
    description.checkpointed = checkpointed->boolean();
  if (const auto notes = root.optional("notes"))
    for (const Cursor& note : notes->array()) description.notes.push_back(note.string());
  if (const auto source = root.optional("traced_with"))
    description.source = "traced by " + source->string();
  description.usual_batch = root.required("batch").integer(1, kMostTracedBatch);
  root.required("sample");
  return description;
}

}  // namespace

const ObjectType& model_document() {
  static const auto type =
      ObjectType("Model", "the layers of a module that ddpsim.estimate traced, for one sample")
          .needs("schema", word_of({std::string(kModelSchema)}), "which document this is")
          .may_have("name", {DocumentKind::text},
                    "the class of the module; default: the file's name")
          .needs("sample", word_of(sample_words()),
                 "what a sample is: an image, a sequence of tokens or something else")
          .may_have("sample_size", {DocumentKind::integer},
                    "pixels a side, or tokens; default: samples without a size")
          .needs("batch", {DocumentKind::integer},
                 "samples of the traced batch, unless bBATCH says others")
          .needs("parameters", list_of(object_of(parameter_type())),
                 "parameters in definition order, those that several modules share once")
          .may_have("buffers", list_of(object_of(buffer_type())),
                    "module buffers by dtype; default: none")
          .needs("layers", list_of(object_of(layer_type())),
                 "operators that launch kernels, in the order forward ran them")
          .may_have("blocks", list_of(object_of(block_type())),
                    "repeated modules, which activation checkpointing runs again; default: none")
          .may_have("checkpointed", {DocumentKind::boolean},
                    "whether the module checkpoints its blocks; default: false")
          .may_have("optimizer", word_of(optimizer_words()),
                    "default: momentum for images, else adam")
          .may_have("fused_optimizer", {DocumentKind::boolean},
                    "whether one kernel updates many parameters (fused=True); default: false")
          .may_have("notes", list_of({DocumentKind::text}),
                    "what the trace could not say in layers")
          .may_have("traced_with", {DocumentKind::text},
                    "the program and PyTorch that made the trace");
  return type;
}

bool is_model_file(std::string_view text) {
  // Python writes the schema first; a config.json has no such word.
  return text.substr(0, 200).find("ddpsim.model/") != std::string_view::npos;
}

ModelDescription parse_model_file(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  require_schema(document.root());
  const Object root = document.root().object(model_document());
  auto model = std::make_shared<Model>(ModelFileReader(root).read());
  ModelDescription description = read_description(root);
  const auto name = root.optional("name");
  description.name = model->name = name ? name->string() : file;
  if (description.checkpointed && model->blocks.empty())
    root.required("checkpointed").fail("there are no blocks to checkpoint", kTraceItAgain);
  description.build = [model](std::int64_t, AttentionKernel) { return *model; };
  return description;
}

}  // namespace ddpsim
