// Reading ddpsim.model/1, what ddpsim.estimate traces.
#include "ddpsim/models/model_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

constexpr const char* kKindsInOrder[] = {"convolution", "linear",  "attention", "normalization",
                                         "elementwise", "pooling", "embedding"};

std::string product_text(const Product& product) {
  return fmt::format(
      R"(,"product":{{"groups":{},"in":{},"out":{},"kernel_height":{},"kernel_width":{},"stride":{},"positions_in":{},"out_height":{},"out_width":{}}})",
      product.groups, product.in, product.out, product.kernel.height, product.kernel.width,
      product.stride, product.positions_in, product.out_height, product.out_width);
}

std::string fused_text(const FusedAttention& fused) {
  const std::string shared =
      fused.key_heads > 0 ? fmt::format(R"("key_heads":{},)", fused.key_heads) : "";
  return fmt::format(
      R"(,"attention":{{"heads":{},"features":{},"queries":{},"keys":{},{}"causal":{}}})",
      fused.heads, fused.features, fused.queries, fused.keys, shared, fused.causal);
}

std::string layer_text(const Layer& layer) {
  std::string text = fmt::format(
      R"({{"name":"{}","kind":"{}","parameters":[{}],"weights":{},"inputs":{},"outputs":{})",
      layer.name, kKindsInOrder[static_cast<int>(layer.kind)], fmt::join(layer.parameters, ","),
      layer.weights, layer.inputs, layer.outputs);
  text += fmt::format(
      R"(,"forward_elements":{},"backward_elements":{},"forward_kernels":{},"backward_kernels":{},"kept_elements":{},"kept_bytes":{})",
      layer.forward_elements, layer.backward_elements, layer.forward_kernels,
      layer.backward_kernels, layer.kept, layer.kept_bytes);
  text += fmt::format(
      R"(,"sums_branches":{},"data_gradient":{},"reached":{},"trains":{},"single_precision":{},"channels_last":{})",
      layer.sums_branches, layer.data_gradient, layer.reached, layer.trains, layer.single_precision,
      layer.channels_last);
  text += fmt::format(R"(,"autocast_casts":{},"half_casts":{})", layer.autocast_casts,
                      layer.half_casts);
  if (layer.autocast_width > 0)
    text += fmt::format(R"(,"autocast_width":{})", layer.autocast_width);
  if (layer.kept_by_autocast)
    text += fmt::format(R"(,"kept_autocast_bytes":{})", *layer.kept_by_autocast);
  if (layer.kept_by_half) text += fmt::format(R"(,"kept_half_bytes":{})", *layer.kept_by_half);
  if (layer.product) text += product_text(*layer.product);
  if (layer.fused) text += fused_text(*layer.fused);
  return text + "}";
}

/// The document of a model whose parameters all train.
std::string trace_text_of(const Model& model) {
  std::vector<std::string> parameters;
  for (const Parameter& parameter : model.parameters)
    parameters.push_back(fmt::format(R"({{"name":"{}","shape":[{}],"batch_norm":{}}})",
                                     parameter.name, fmt::join(*parameter.shape, ","),
                                     parameter.batch_norm));
  std::vector<std::string> buffers;
  for (const BufferGroup& group : model.buffers)
    buffers.push_back(fmt::format(R"({{"dtype":"{}","bytes":{},"tensors":{}}})",
                                  name_of(group.dtype), group.bytes.count(), group.tensors));
  std::vector<std::string> layers;
  for (const Layer& layer : model.layers) layers.push_back(layer_text(layer));
  std::vector<std::string> blocks;
  for (const Block& block : model.blocks)
    blocks.push_back(fmt::format(R"({{"first":{},"last":{}}})", block.first, block.last));
  return fmt::format(
      R"({{"schema":"ddpsim.model/1","name":"{}","sample":"{}","sample_size":{},"batch":{},"parameters":[{}],"buffers":[{}],"layers":[{}],"blocks":[{}]}})",
      model.name, model.sample == SampleKind::image ? "image" : "sequence", model.sample_size,
      model.default_batch, fmt::join(parameters, ","), fmt::join(buffers, ","),
      fmt::join(layers, ","), fmt::join(blocks, ","));
}

Workload estimated_trace(const std::string& line, const std::string& document) {
  return estimate_workload(parse_estimate_spec(line, parse_model_file(document, "m.json")),
                           find_gpu("A100").value());
}

/// A linear of 4 by 2 with a ReLU; `more` goes into its first layer.
std::string small_trace(const std::string& more = "", const std::string& outside = "") {
  return R"({"schema":"ddpsim.model/1","sample":"other","batch":8,"parameters":[{"name":"w","shape":[2,4]}],"layers":[{"name":"fc","kind":"linear","parameters":[0],"weights":8,"product":{"in":4,"out":2,"positions_in":1,"out_height":1})" +
         more + R"(},{"name":"relu","kind":"elementwise","forward_elements":4}])" + outside + "}";
}

std::string trace_complaint(const std::string& document) {
  return complaint_of([&] { parse_model_file(document, "m.json"); });
}

}  // namespace

TEST_CASE("model file: a catalogue model written as one is estimated as before") {
  for (const char* name : {"resnet50", "gpt2", "bert-base", "densenet121", "llama2-7b", "t5-small"})
    for (const char* options : {":b4:fp32", ":b4:bf16", ":b4:bf16-true"}) {
      INFO(name << options);
      const Model model = find_model(name).value();
      const Workload known = estimate_workload(
          parse_estimate_spec(std::string(name) + "@A100" + options), find_gpu("A100").value());
      const Workload read =
          estimated_trace(std::string("m.json@A100") + options, trace_text_of(model));
      CHECK(read.forward == known.forward);
      CHECK(read.backward == known.backward);
      CHECK(read.optimizer == known.optimizer);
      CHECK(read.launches == known.launches);
      CHECK(read.activations == known.activations);
      CHECK(read.sample == known.sample);
      REQUIRE(read.parameters.size() == known.parameters.size());
      for (std::size_t p = 0; p < read.parameters.size(); ++p) {
        CHECK(read.parameters[p].name == known.parameters[p].name);
        CHECK(read.parameters[p].shape == known.parameters[p].shape);
        CHECK(read.parameters[p].dtype == known.parameters[p].dtype);
      }
    }
}

TEST_CASE("model file: blocks can be checkpointed, and are where the module does so itself") {
  const Model model = find_model("gpt2").value();
  std::string text = trace_text_of(model);
  const Workload plain = estimated_trace("m.json@A100:b4", text);
  const Workload full = estimated_trace("m.json@A100:b4:ckpt=full", text);
  CHECK(full.activations->bytes < plain.activations->bytes);
  text.insert(text.size() - 1, R"(,"checkpointed":true)");
  CHECK(estimated_trace("m.json@A100:b4", text).backward == full.backward);
  CHECK(estimated_trace("m.json@A100:b4:ckpt=none", text).backward == plain.backward);
}

TEST_CASE("model file: what a line cannot choose for a trace is refused") {
  const ModelDescription description =
      parse_model_file(trace_text_of(find_model("gpt2").value()), "m.json");
  for (const char* option : {"s128", "attn=sdpa"}) {
    const std::string message = complaint_of(
        [&] { parse_estimate_spec(std::string("m.json@A100:") + option, description); });
    CHECK(mentions(message, "m.json is a trace"));
    CHECK(mentions(message, option));
  }
}

TEST_CASE("model file: convolutions in channels_last are not copied into another layout") {
  Model model = find_model("resnet50").value();
  const Workload usual = estimated_trace("m.json@A100:b32:amp", trace_text_of(model));
  for (Layer& layer : model.layers) layer.channels_last = layer.kind == LayerKind::convolution;
  const Workload last = estimated_trace("m.json@A100:b32:amp", trace_text_of(model));
  CHECK(*last.forward < *usual.forward);
}

TEST_CASE("model file: casts count in what a step may take") {
  const std::string text = small_trace(R"(,"autocast_casts":1000000000000)");
  CHECK(complaint_of([&] {
          estimated_trace("m.json@A100:b1000000:amp", text);
        }).find("takes hours") != std::string::npos);
}

TEST_CASE("model file: an optimizer of its own takes its passes, fused in fewer kernels") {
  const Workload adam = estimated_trace("m.json@A100", small_trace("", R"(,"optimizer":"adamw")"));
  CHECK(adam.launches->optimizer == 9);  // eight operators, and 0.7 for its parameter
  CHECK(estimated_trace("m.json@A100", small_trace("", R"(,"optimizer":"sgd")"))
            .launches->optimizer == 1);
  CHECK(estimated_trace("m.json@A100",
                        small_trace("", R"(,"optimizer":"adamw","fused_optimizer":true)"))
            .launches->optimizer == 1);
}

TEST_CASE("model file: a half-precision parameter keeps its type in every precision") {
  std::string text = small_trace();
  text.replace(text.find(R"("shape")"), 7, R"("dtype":"bfloat16","shape")");
  CHECK(estimated_trace("m.json@A100:fp32", text).parameters.front().dtype == Dtype::bfloat16);
}

TEST_CASE("model file: notes of the trace are kept") {
  const Workload workload =
      estimated_trace("m.json@A100", small_trace("", R"(,"notes":["one","two"])"));
  bool found = false;
  for (const auto& [key, value] : workload.provenance)
    if (key == kModelNoteMark) found = value == "one; two";
  CHECK(found);
}

TEST_CASE("model file: a bad file gets one message with place and remedy") {
  struct BadTrace {
    std::string text;
    const char* says;
  };
  const BadTrace all[] = {
      {R"({"schema":"ddpsim.model/2"})", "m.json:/schema: \"ddpsim.model/2\" is another version"},
      {R"({"name":"x"})", "missing \"schema\""},
      {small_trace(R"(,"parameters":[1])"), "appears twice"},
      {small_trace(R"(,"sizes":1)"), "m.json:/layers/0/sizes"},
      {small_trace(R"(,"inputs":-1)"), "m.json:/layers/0/inputs"},
      {small_trace(R"(,"kept_elements":1000000000001)"), "m.json:/layers/0/kept_elements"},
      {small_trace(R"(,"attention":{"heads":8,"features":1,"queries":1,"keys":1,"key_heads":3})"),
       "m.json:/layers/0/attention/key_heads: 8 heads cannot share 3 heads of keys"},
      {small_trace("", R"(,"blocks":[{"first":0,"last":3}])"), "m.json:/blocks/0/last"},
      {small_trace("", R"(,"blocks":[{"first":1,"last":2},{"first":1,"last":2}])"),
       "m.json:/blocks/1/first"},
      {small_trace("", R"(,"checkpointed":true)"), "m.json:/checkpointed: there are no blocks"},
      {small_trace("", R"(,"buffers":[{"dtype":"float99","bytes":1,"tensors":1}])"),
       "m.json:/buffers/0/dtype: \"float99\" is not known"},
      {small_trace("", R"(,"optimizer":"lion")"), "m.json:/optimizer"},
      {R"({"schema":"ddpsim.model/1","sample":"other","batch":1,"parameters":[{"name":"w","shape":[1]},{"name":"w","shape":[1]}],"layers":[]})",
       "m.json:/parameters/1: \"w\" is another parameter's name too"},
      {R"({"schema":"ddpsim.model/1","sample":"other","batch":1,"parameters":[{"name":"w","shape":[1]}],"layers":[]})",
       "m.json:/layers: backward writes no parameter's gradient"},
      {R"({"schema":"ddpsim.model/1","sample":"other","batch":1,"parameters":[{"name":"w","shape":[1]}],"layers":[{"name":"a","kind":"linear","parameters":[1]}]})",
       "m.json:/layers/0/parameters/0: there is no parameter 1 among 1"},
      {R"({"schema":"ddpsim.model/1","sample":"other","batch":1,"parameters":[{"name":"w","shape":[9223372036854775807]}],"layers":[]})",
       "m.json:/parameters/0"},
      {R"({"schema":"ddpsim.model/1","sample":"other","batch":1,"parameters":[{"name":"w","shape":[1]}],"layers":[{"name":"a","kind":"linear","parameters":[0],"product":{"in":1000000000,"out":1000000000,"positions_in":1,"out_height":1}}]})",
       "m.json:/layers/0/product: an operand has more than"},
  };
  for (const BadTrace& bad : all) {
    INFO(bad.text << ": " << trace_complaint(bad.text));
    CHECK(trace_complaint(bad.text).find(bad.says) != std::string::npos);
  }
}

TEST_CASE("model file: told apart from a config.json by its first words") {
  CHECK(is_model_file(small_trace()));
  CHECK(is_model_file(R"({"schema":"ddpsim.model/7"})"));
  CHECK_FALSE(is_model_file(R"({"model_type":"gpt2"})"));
}
