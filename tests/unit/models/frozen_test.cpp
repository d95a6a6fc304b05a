// Effect of frozen parameters on an estimate's backward.
#include "ddpsim/models/frozen.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "complaint.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_config.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

Workload with_frozen(const std::string& patterns) {
  const std::string text =
      "gpt2@A100:b2:s128:fp32" + (patterns.empty() ? "" : ":frozen=" + patterns);
  return estimate_workload(parse_estimate_spec(text), find_gpu("A100").value());
}

std::size_t count_frozen(const Workload& workload) {
  return static_cast<std::size_t>(std::ranges::count_if(workload.parameters, &Parameter::frozen));
}

}  // namespace

TEST_CASE("frozen estimates: gradients, optimizer and backward cover only trainable parameters") {
  const Workload whole = with_frozen("");
  const Workload head = with_frozen("transformer.wte+transformer.wpe+transformer.h.*");
  CHECK(count_frozen(head) == head.parameters.size() - 2);  // ln_f
  CHECK(head.backward->ready.size() == 2);
  CHECK(*head.forward == *whole.forward);
  // Only the loss, the output layer's data gradient and the last norm remain. No block does.
  CHECK(head.backward->duration < whole.backward->duration.scaled(0.5));
  CHECK(*head.optimizer < whole.optimizer->scaled(0.1));
  CHECK(head.activations->bytes < whole.activations->bytes);
  CHECK(head.activations->held.size() == 4);
  for (const Parameter& parameter : head.parameters) {
    REQUIRE(parameter.module_time);
    const bool block = parameter.name.starts_with("transformer.h.");
    if (block) CHECK(!parameter.module_time->backward);
  }
}

TEST_CASE(
    "frozen estimates: a frozen layer after a trainable one computes only its input gradient") {
  const Workload whole = with_frozen("");
  const Workload part = with_frozen("transformer.h.*");
  // Backward normally runs each product twice. In the blocks, one of the two remains.
  CHECK(part.backward->duration < whole.backward->duration.scaled(0.9));
  CHECK(part.backward->duration > whole.backward->duration.scaled(0.5));
  CHECK(part.backward->ready.size() == 4);
  for (const Parameter& parameter : part.parameters) {
    REQUIRE(parameter.module_time);
    CHECK(parameter.module_time->backward);
  }
  // Launches are counted up to each remaining gradient.
  CHECK(part.launches->backward.size() == 4);
  CHECK(part.launches->of_backward() < whole.launches->of_backward());
}

TEST_CASE("frozen estimates: unknown names are refused, and so is a model with nothing to train") {
  CHECK(complaint_of([] {
          with_frozen("transformer.q");
        }).find("no module or parameter has this name") != std::string::npos);
  CHECK(complaint_of([] { with_frozen("transformer"); }).find("nothing to train") !=
        std::string::npos);
  CHECK(complaint_of([] { with_frozen("a++b"); }).find("names nothing to freeze") !=
        std::string::npos);
}

TEST_CASE("frozen models: backward does not reach a frozen image tower") {
  const ModelDescription description = model_of_config(
      R"({"model_type":"llava","vision_feature_layer":-1,"vision_feature_select_strategy":"full",)"
      R"("vision_config":{"model_type":"pixtral","num_hidden_layers":1},)"
      R"("text_config":{"model_type":"llama","num_hidden_layers":1}})",
      "c.json");
  const auto without = [&](const std::vector<std::string>& patterns) {
    Model model = build_model(description, std::nullopt, std::nullopt);
    CHECK(freeze(model, patterns).empty());
    leave_out_frozen(model);
    return model;
  };
  const auto layer = [](const Model& model, const std::string& name) {
    const auto found = std::ranges::find(model.layers, name, &Layer::name);
    REQUIRE(found != model.layers.end());
    return *found;
  };
  const std::string tower = "model.vision_tower.transformer.layers.0.feed_forward.down_proj";
  const std::string projector = "model.multi_modal_projector.linear_1";
  const std::string text = "model.language_model.layers.0.mlp.down_proj";
  const Model whole = without({});
  CHECK(layer(whole, tower).reached);
  CHECK(!layer(whole, "model.vision_tower.patch_conv").data_gradient);
  const Model usual = without({"model.vision_tower"});
  CHECK(!layer(usual, tower).reached);
  CHECK(layer(usual, projector).reached);
  CHECK(!layer(usual, projector).passes_on);
  const Model aligned = without({"model.vision_tower", "model.language_model", "lm_head"});
  CHECK(!layer(aligned, tower).reached);
  CHECK(layer(aligned, text).reached);
  CHECK(!layer(aligned, text).trains);
  CHECK(aligned.ready_order.size() == 4);
  const Model words = without({"model.vision_tower", "model.multi_modal_projector"});
  CHECK(!layer(words, projector).reached);
  CHECK(layer(words, text).reached);
}
