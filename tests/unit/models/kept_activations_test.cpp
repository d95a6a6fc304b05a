// Activations that forward keeps for backward: counted by hand, and compared with traces.
#include "ddpsim/models/kept_activations.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "data_files.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/traces/import.hpp"

using namespace ddpsim;

namespace {

std::int64_t kept(const Model& model, Precision precision, std::int64_t batch) {
  return kept_activations(model, {.gpu = {}, .precision = precision, .batch = batch}).bytes.count();
}

}  // namespace

TEST_CASE("kept activations: AlexNet's input, convolutions, pools with indices, and classifier") {
  const Model alexnet = find_model("alexnet").value();
  // ReLUs are in place, and dropout frees the last pool's output. A mask takes one byte per
  // element, an index eight.
  const std::int64_t input = 3 * 224 * 224;
  const std::int64_t elements = 193'600 + 46'656 + 139'968 + 32'448 + 64'896 + 43'264 + 43'264 +
                                9'216 + 2 * 4'096 + 4'096 + 1'000;
  const std::int64_t bytes = 8 * (46'656 + 32'448 + 9'216) + 9'216 + 4'096;
  CHECK(kept(alexnet, Precision::fp32, 128) == 128 * (4 * (input + elements) + bytes));
  CHECK(kept(alexnet, Precision::tf32, 1) == kept(alexnet, Precision::fp32, 1));
  // Under autocast, fp16 copies of weights and biases are kept too.
  CHECK(kept(alexnet, Precision::amp, 128) ==
        128 * (2 * (input + elements) + bytes) + 2 * 61'100'840);
  CHECK(kept(alexnet, Precision::bf16, 128) == kept(alexnet, Precision::amp, 128));
}

TEST_CASE("kept activations: a residual block keeps the inputs of its BatchNorms and ReLUs") {
  // ResNet-18, second block of the first stage (56x56, 64 channels). It keeps both convolutions'
  // outputs, the first BatchNorm's output, which is also the ReLU's, and the second's, to which the
  // shortcut is added.
  const Model model = find_model("resnet18").value();
  std::int64_t block = 0;
  for (const Layer& layer : model.layers)
    if (layer.name.starts_with("layer1.1.")) block += layer.kept;
  CHECK(block == 4 * 64 * 56 * 56);
  // In a block that shrinks the map, the output of the shortcut's convolution is kept too, but not
  // that of its BatchNorm.
  block = 0;
  for (const Layer& layer : model.layers)
    if (layer.name.starts_with("layer2.0.")) block += layer.kept;
  CHECK(block == 5 * 128 * 28 * 28);
}

TEST_CASE("kept activations: a layer of BERT keeps ten outputs, softmax twice, and three masks") {
  const Model bert = find_model("bert-base", 128).value();
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  for (const Layer& layer : bert.layers) {
    if (!layer.name.starts_with("encoder.layer.3.")) continue;
    elements += layer.kept;
    bytes += layer.kept_bytes;
  }
  // Query, key, value and heads; two sums and their LayerNorms; before and after GELU, which are
  // four features wide.
  const std::int64_t features = 128 * 768;
  const std::int64_t scores = 12 * 128 * 128;
  CHECK(elements == (8 + 2 * 4) * features + 2 * scores);
  CHECK(bytes == 2 * features + scores);
}

TEST_CASE("kept activations: the part that does not scale with samples is the cast of weights") {
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const Model model = find_model(name).value();
    CHECK(kept(model, Precision::fp32, 7) == 7 * kept(model, Precision::fp32, 1));
    const std::int64_t sample = kept(model, Precision::amp, 2) - kept(model, Precision::amp, 1);
    CHECK(sample < kept(model, Precision::fp32, 1));
    CHECK(kept(model, Precision::amp, 1) > sample);
  }
}

TEST_CASE("kept activations: heads that share keys have no fused kernel in fp32") {
  Layer layer{.name = "attention", .kind = LayerKind::attention};
  layer.fused = FusedAttention{
      .heads = 8, .features = 4, .queries = 16, .keys = 16, .key_heads = 2, .causal = true};
  Model model;
  model.layers = {layer};
  const std::int64_t scores = 8 * 16 * 16;
  const std::int64_t repeated = 2 * (8 - 2) * 16 * 4;
  CHECK(kept(model, Precision::fp32, 3) == 3 * 4 * (scores + repeated));
  // Flash takes them in 16 bits from sm_80 on, but GPUs in this test have none.
  CHECK(kept(model, Precision::bf16, 3) == kept(model, Precision::fp32, 3));
  GpuModel ampere;
  ampere.compute_capability = 80;
  CHECK(kept_activations(model, {.gpu = ampere, .precision = Precision::bf16, .batch = 3}).bytes ==
        Bytes());
  model.layers[0].fused->key_heads = 8;
  CHECK(kept(model, Precision::fp32, 3) == 0);
}

TEST_CASE("kept activations: what a trace states for autocast and for bfloat16 goes first") {
  Model model;
  model.layers = {{.name = "h.0.act:pow", .kept = 10}, {.name = "h.1.act:pow", .kept = 10}};
  for (Layer& layer : model.layers) {
    layer.kept_by_autocast = 60;
    layer.kept_by_half = 30;
  }
  const auto of = [&](Precision precision) {
    return kept_activations(model, {.gpu = {}, .precision = precision, .batch = 2});
  };
  CHECK(of(Precision::fp32).bytes == Bytes(2 * 2 * 40));
  CHECK(of(Precision::amp).bytes == Bytes(2 * 2 * 60));
  CHECK(of(Precision::bf16_true).bytes == Bytes(2 * 2 * 30));
  // Blocks of the same kind count together.
  CHECK(of(Precision::amp).by == std::vector<KeptBy>{{.name = "h.*.act:pow", .bytes = Bytes(240)}});
}

TEST_CASE("kept activations: compared with two traces with profile_memory") {
  const std::filesystem::path folder = files::shared_file("data/traces");
  if (!std::filesystem::exists(folder / "index.json")) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  struct Case {
    std::string trace;
    const char* model;
    std::int64_t batch;
  };
  for (const Case& one :
       {Case{"r50-1xV100-nw0", "resnet50", 32}, Case{"vgg13-1xH100", "vgg13", 512}}) {
    CAPTURE(one.trace);
    const Workload recorded = import_file(folder / (one.trace + ".json.gz"), {}).workload;
    REQUIRE(recorded.activations);
    CHECK(recorded.activations->recorded);
    const auto bytes = static_cast<double>(recorded.activations->bytes.count());
    const auto layers =
        static_cast<double>(kept(find_model(one.model).value(), Precision::fp32, one.batch));
    MESSAGE(one.trace << ": " << bytes / 1e6 << " MB recorded, " << layers / 1e6
                      << " MB by layers");
    CHECK(std::abs(layers / bytes - 1) < 0.01);
  }
}
