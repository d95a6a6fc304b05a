// Counts by hand what each module multiplies, moves and launches. Then counts how many modules of
// each kind every model of the catalogue runs.
#include "module_recorder.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ddpsim;

namespace {

/// Four channels on a map of six rows and four columns: 96 elements.
constexpr Activation kMap = {.channels = 4, .height = 6, .width = 4};
/// Eight features of five tokens: 40 elements.
constexpr Activation kTokens = {.channels = 8, .height = 5};

/// Cost of a module except its product, as one line.
struct Cost {
  std::int64_t weights, forward_elements, backward_elements;
  int forward_kernels, backward_kernels;
  std::int64_t kept;
  bool operator==(const Cost&) const = default;
};

Cost recorded_cost(const Layer& layer) {
  return {layer.weights,         layer.forward_elements, layer.backward_elements,
          layer.forward_kernels, layer.backward_kernels, layer.kept};
}

void check_product(const Layer& layer, const Product& expected) {
  REQUIRE(layer.product);
  const Product& product = *layer.product;
  CHECK(product.groups == expected.groups);
  CHECK(product.in == expected.in);
  CHECK(product.out == expected.out);
  CHECK(product.kernel.height == expected.kernel.height);
  CHECK(product.kernel.width == expected.kernel.width);
  CHECK(product.stride == expected.stride);
  CHECK(product.positions_in == expected.positions_in);
  CHECK(product.out_height == expected.out_height);
  CHECK(product.out_width == expected.out_width);
}

void check_activation(const ModuleRecorder& recorder, const Activation& expected) {
  CHECK(recorder.activation().channels == expected.channels);
  CHECK(recorder.activation().height == expected.height);
  CHECK(recorder.activation().width == expected.width);
}

std::vector<std::string> names(const Model& model, const std::vector<std::size_t>& parameters) {
  std::vector<std::string> list;
  for (const std::size_t index : parameters) list.push_back(model.parameters[index].name);
  return list;
}

}  // namespace

TEST_CASE("module recorder: a first convolution with a bias, two groups and a stride") {
  ModuleRecorder recorder("m", kMap);
  recorder.conv2d(
      "c", {.out = 6, .kernel = {3, 1}, .stride = 2, .padding = {1, 0}, .groups = 2, .bias = true});
  // The output has (6 + 2 - 3) / 2 + 1 = 3 rows and (4 - 1) / 2 + 1 = 2 columns: 36 elements.
  check_activation(recorder, {.channels = 6, .height = 3, .width = 2});
  const Model model = std::move(recorder).finish();
  CHECK(model.name == "m");
  REQUIRE(model.parameters.size() == 2);
  CHECK(model.parameters[0].name == "c.weight");
  CHECK(model.parameters[0].shape == std::vector<std::int64_t>{6, 2, 3, 1});
  CHECK(model.parameters[1].shape == std::vector<std::int64_t>{6});
  const Layer& layer = model.layers[0];
  CHECK(layer.kind == LayerKind::convolution);
  CHECK_FALSE(layer.data_gradient);  // nobody asks for the image's
  check_product(layer, {.groups = 2,
                        .in = 2,
                        .out = 3,
                        .kernel = {3, 1},
                        .stride = 2,
                        .positions_in = 24,
                        .out_height = 3,
                        .out_width = 2});
  // One kernel of forward reads and writes the output for the bias. One kernel of backward sums it
  // up.
  CHECK(recorded_cost(layer) == Cost{36 + 6, 72, 36, 2, 2, 36});
  CHECK(names(model, model.ready_order) == std::vector<std::string>{"c.weight", "c.bias"});
  CHECK(model.buffers.empty());
}

TEST_CASE("module recorder: a later convolution without a bias runs two kernels in backward") {
  ModuleRecorder recorder("m", kMap);
  recorder.relu("r");
  recorder.conv2d("c", {.out = 2, .kernel = {1, 3}, .padding = {0, 1}});
  check_activation(recorder, {.channels = 2, .height = 6, .width = 4});
  const Model model = std::move(recorder).finish();
  CHECK(model.layers[1].data_gradient);
  CHECK(recorded_cost(model.layers[1]) == Cost{24, 0, 0, 1, 2, 48});
}

TEST_CASE("module recorder: the kinds of norm, and the buffers of the first") {
  ModuleRecorder recorder("m", kMap);
  recorder.batch_norm("b");
  recorder.batch_norm("c");
  recorder.layer_norm("l");
  const Model model = std::move(recorder).finish();
  CHECK(recorded_cost(model.layers[0]) == Cost{8, 3 * 96, 5 * 96, 1, 1, 96});
  CHECK_FALSE(model.layers[0].single_precision);
  CHECK(recorded_cost(model.layers[2]) == Cost{8, 2 * 96, 5 * 96, 1, 1, 96});
  CHECK(model.layers[2].single_precision);
  CHECK(model.layers[2].kind == LayerKind::normalization);
  REQUIRE(model.buffers.size() == 2);
  CHECK(model.buffers[0].dtype == Dtype::float32);  // mean and variance of four channels, twice
  CHECK(model.buffers[0].bytes == Bytes(2 * 2 * 4 * 4));
  CHECK(model.buffers[0].tensors == 4);
  CHECK(model.buffers[1].dtype == Dtype::int64);  // batches seen, a scalar each
  CHECK(model.buffers[1].bytes == Bytes(2 * 8));
  CHECK(model.buffers[1].tensors == 2);
  CHECK(model.buffers_as_in.empty());
  CHECK(names(model, model.ready_order) ==
        std::vector<std::string>{"l.weight", "l.bias", "c.weight", "c.bias", "b.weight", "b.bias"});
}

TEST_CASE("module recorder: Linears of either layout finish the bias first") {
  ModuleRecorder recorder("m", kTokens);
  recorder.linear("a", 3);
  check_activation(recorder, {.channels = 3, .height = 5});
  recorder.conv1d_addmm("b", 7);
  const Model model = std::move(recorder).finish();
  CHECK(model.parameters[0].shape == std::vector<std::int64_t>{3, 8});
  CHECK(model.parameters[2].shape == std::vector<std::int64_t>{3, 7});
  CHECK(model.parameters[3].shape == std::vector<std::int64_t>{7});
  CHECK(model.layers[0].kind == LayerKind::linear);
  check_product(model.layers[0], {.in = 8, .out = 3, .positions_in = 5, .out_height = 5});
  // Backward computes the weight's gradient and the sum of the output's 15 elements for the bias.
  // The input's gradient is not needed.
  CHECK(recorded_cost(model.layers[0]) == Cost{27, 0, 15, 1, 2, 15});
  CHECK_FALSE(model.layers[0].data_gradient);
  CHECK(model.layers[1].data_gradient);
  check_product(model.layers[1], {.in = 3, .out = 7, .positions_in = 5, .out_height = 5});
  CHECK(names(model, model.ready_order) ==
        std::vector<std::string>{"b.bias", "b.weight", "a.bias", "a.weight"});
}

TEST_CASE("module recorder: an embedding is looked up and used again as the output layer") {
  ModuleRecorder recorder("m", {.height = 5});
  const std::size_t words = recorder.embedding("words", 11, 8);
  recorder.look_up(words);
  check_activation(recorder, kTokens);
  recorder.tied_linear(words);
  check_activation(recorder, {.channels = 11, .height = 5});
  const Model model = std::move(recorder).finish();
  CHECK(model.parameters[0].name == "words.weight");
  CHECK(model.parameters[0].shape == std::vector<std::int64_t>{11, 8});
  const Layer& lookup = model.layers[0];
  CHECK(lookup.kind == LayerKind::embedding);
  CHECK(lookup.single_precision);
  CHECK(recorded_cost(lookup) == Cost{88, 2 * 40, 3 * 40, 1, 1, 40});
  CHECK(model.layers[1].kind == LayerKind::linear);
  check_product(model.layers[1], {.in = 8, .out = 11, .positions_in = 5, .out_height = 5});
  CHECK(recorded_cost(model.layers[1]) == Cost{88, 0, 0, 1, 1, 55});
  CHECK(model.ready_order == std::vector<std::size_t>{0});  // once, when both uses are summed
}

TEST_CASE("module recorder: attention runs two products and the kernels between them") {
  ModuleRecorder recorder("m", kTokens);
  recorder.attention("a", 2, 6);
  check_activation(recorder, kTokens);
  const Model model = std::move(recorder).finish();
  REQUIRE(model.layers.size() == 6);
  CHECK(model.layers[0].kind == LayerKind::attention);
  check_product(model.layers[0],
                {.groups = 2, .in = 4, .out = 6, .positions_in = 5, .out_height = 5});
  check_product(model.layers[4],
                {.groups = 2, .in = 6, .out = 4, .positions_in = 5, .out_height = 5});
  // Two heads with five queries and six keys have 60 scores.
  CHECK(recorded_cost(model.layers[0]) == Cost{0, 0, 0, 1, 1, 0});
  CHECK(recorded_cost(model.layers[1]) == Cost{0, 4 * 60, 2 * 60, 2, 2, 0});   // scale and mask
  CHECK(recorded_cost(model.layers[2]) == Cost{0, 2 * 60, 3 * 60, 1, 1, 60});  // softmax
  CHECK(recorded_cost(model.layers[3]) == Cost{0, 2 * 60, 2 * 60, 1, 1, 60});  // dropout
  CHECK(recorded_cost(model.layers[4]) == Cost{0, 0, 0, 1, 1, 0});
  CHECK(recorded_cost(model.layers[5]) ==
        Cost{0, 8 * 40, 8 * 40, 4, 4, 40});  // in and out of heads
  CHECK(model.layers[2].single_precision);
  CHECK_FALSE(model.layers[1].single_precision);
}

TEST_CASE("module recorder: fused attention runs one kernel that keeps no scores") {
  ModuleRecorder recorder("m", kTokens, AttentionKernel::sdpa);
  recorder.attention("a", {.heads = 4, .keys = 6, .key_heads = 2, .causal = true, .dropout = true});
  check_activation(recorder, kTokens);
  const Model model = std::move(recorder).finish();
  REQUIRE(model.layers.size() == 1);
  const Layer& layer = model.layers[0];
  CHECK(layer.kind == LayerKind::attention);
  CHECK_FALSE(layer.product);
  REQUIRE(layer.fused);
  // Four heads of two features have five queries and half of six keys, in two products.
  CHECK(layer.fused->multiply_adds() == 2 * 4 * 5 * 3 * 2);
  // Queries and result have 40 elements, keys and values 24 each.
  CHECK(layer.inputs == 40 + 2 * 24);
  CHECK(recorded_cost(layer) == Cost{0, 2 * 40 + 2 * 24, 9 * 40 + 4 * 24, 1, 3, 40});
  CHECK(layer.kept_bytes == 4 * 4 * 5);
}

TEST_CASE(
    "module recorder: eager attention repeats shared key heads, with dropout only on request") {
  ModuleRecorder recorder("m", kTokens);
  recorder.attention("a", {.heads = 4, .keys = 6, .key_heads = 2});
  const Model model = std::move(recorder).finish();
  REQUIRE(model.layers.size() == 6);
  // Keys and values of six positions. Repeated, each is eight features wide.
  CHECK(recorded_cost(model.layers[0]) == Cost{0, 2 * 96, 2 * 96, 2, 2, 96 - 2 * 24});
  check_product(model.layers[1],
                {.groups = 4, .in = 2, .out = 6, .positions_in = 5, .out_height = 5});
  CHECK(model.layers[3].name == "a.softmax");
  CHECK(model.layers[4].name == "a.weighted_sum");
}

TEST_CASE(
    "module recorder: RMSNorm in single kernels, a rotation, and an input of several modules") {
  ModuleRecorder recorder("m", kTokens);
  recorder.rms_norm("n");
  recorder.used_by(3);
  recorder.rotate_positions("r", 6, 6);
  recorder.rotate_positions("p", 2, 6);
  check_activation(recorder, kTokens);
  recorder.gate("g");
  recorder.silu("s");
  recorder.gelu_written_out("w");
  const Model model = std::move(recorder).finish();
  CHECK(recorded_cost(model.layers[0]) == Cost{8, 9 * 40, 17 * 40 + 2 * 3 * 40, 8, 13 + 2, 40});
  CHECK(model.layers[0].kept_bytes == 4 * 40);
  CHECK(model.layers[0].single_precision);
  CHECK(recorded_cost(model.layers[1]) == Cost{0, 10 * 30, 10 * 30, 10, 10, 30});
  // Two of six features are rotated, then joined to the rest.
  CHECK(recorded_cost(model.layers[2]) == Cost{0, 10 * 10 + 2 * 30, 10 * 10 + 2 * 30, 12, 12, 30});
  CHECK(recorded_cost(model.layers[3]) == Cost{0, 3 * 40, 6 * 40, 1, 2, 40});
  CHECK(recorded_cost(model.layers[4]) == Cost{0, 2 * 40, 3 * 40, 1, 1, 40});
  CHECK(recorded_cost(model.layers[5]) == Cost{0, 18 * 40, 24 * 40, 8, 8, 4 * 40});
}

TEST_CASE(
    "module recorder: modules defined beforehand keep their order, but are ready by run order") {
  ModuleRecorder recorder("m", kTokens);
  recorder.define_module("late", true);
  recorder.define_parameter("early.weight");
  recorder.linear("early", 3, false);
  recorder.linear("late", 2);
  const Model model = std::move(recorder).finish();
  CHECK(names(model, {0, 1, 2}) ==
        std::vector<std::string>{"late.weight", "late.bias", "early.weight"});
  CHECK(model.parameters[2].shape == std::vector<std::int64_t>{3, 8});
  CHECK(recorded_cost(model.layers[0]) == Cost{24, 0, 0, 1, 1, 15});
  CHECK(names(model, model.ready_order) ==
        std::vector<std::string>{"late.bias", "late.weight", "early.weight"});
}

TEST_CASE("module recorder: an output layer with the embedding's weight and a bias") {
  ModuleRecorder recorder("m", {.height = 5});
  const std::size_t words = recorder.embedding("words", 11, 8);
  recorder.look_up(words);
  recorder.tied_linear(words, "bias");
  recorder.continue_from(kTokens);
  const std::size_t distances = recorder.embedding("distances", 3, 2);
  recorder.look_up_for_scores(distances, 25);
  const Model model = std::move(recorder).finish();
  CHECK(recorded_cost(model.layers[1]) == Cost{88 + 11, 0, 55, 1, 2, 55});
  CHECK(recorded_cost(model.layers[2]) == Cost{6, 0, 50, 1, 2, 0});
  CHECK(names(model, model.ready_order) ==
        std::vector<std::string>{"distances.weight", "bias", "words.weight"});
}

TEST_CASE("module recorder: fairseq's projections read query and memory, biases last") {
  ModuleRecorder recorder("m", kTokens);
  recorder.fairseq_projections("a", {.channels = 8, .height = 9});
  check_activation(recorder, kTokens);
  const Model model = std::move(recorder).finish();
  REQUIRE(model.layers.size() == 4);
  CHECK(recorded_cost(model.layers[0]) == Cost{24, 0, 0, 1, 1, 40});
  check_product(model.layers[1], {.in = 8, .out = 8, .positions_in = 5, .out_height = 5});  // q
  check_product(model.layers[2], {.in = 8, .out = 8, .positions_in = 9, .out_height = 9});  // k
  CHECK(recorded_cost(model.layers[1]) == Cost{64, 0, 40, 1, 1, 40});
  CHECK(recorded_cost(model.layers[3]) == Cost{64, 0, 72, 1, 1, 72});
  CHECK(names(model, model.ready_order) ==
        std::vector<std::string>{"a.v_proj.weight", "a.k_proj.weight", "a.q_proj.weight",
                                 "a.q_proj.bias", "a.k_proj.bias", "a.v_proj.bias"});
}

TEST_CASE("module recorder: passes of the elementwise kernels") {
  ModuleRecorder recorder("m", kMap);
  recorder.relu("relu");
  recorder.dropout("dropout");
  recorder.add("add", recorder.activation());
  recorder.cross_entropy("loss");
  recorder.elementwise("own", {.forward = 7, .backward = 5, .kernels = 3});
  recorder.concatenate("join", 10);
  check_activation(recorder, {.channels = 10, .height = 6, .width = 4});
  const Model model = std::move(recorder).finish();
  CHECK(recorded_cost(model.layers[0]) == Cost{0, 2 * 96, 3 * 96, 1, 1, 0});  // in place
  CHECK(recorded_cost(model.layers[1]) == Cost{0, 2 * 96, 2 * 96, 1, 1, 0});  // goes into a sum
  CHECK(model.layers[1].kept_bytes == 96);
  CHECK(recorded_cost(model.layers[2]) == Cost{0, 3 * 96, 3 * 96, 1, 1, 0});  // goes into the loss
  CHECK(recorded_cost(model.layers[3]) == Cost{0, 4 * 96, 3 * 96, 1, 1, 96});
  CHECK(recorded_cost(model.layers[4]) == Cost{0, 7 * 96, 5 * 96, 3, 3, 96});
  CHECK(recorded_cost(model.layers[5]) == Cost{0, 2 * 240, 2 * 240, 1, 1, 240});
  for (std::size_t k = 0; k < model.layers.size(); ++k)
    CHECK(model.layers[k].single_precision == (k == 3));
}

TEST_CASE("module recorder: pools read one window per output, and backward spreads it") {
  ModuleRecorder recorder("m", kMap);
  recorder.max_pool("max", {.size = 3, .stride = 2, .padding = 1});
  check_activation(recorder, {.channels = 4, .height = 3, .width = 2});  // 24 elements
  recorder.continue_from(kMap);
  recorder.average_pool("average", {.size = 2, .stride = 2});
  recorder.continue_from({.channels = 4, .height = 6, .width = 6});
  recorder.adaptive_average_pool("adaptive", 2);
  check_activation(recorder,
                   {.channels = 4, .height = 2, .width = 2});  // windows of 3: 16 elements
  recorder.adaptive_average_pool("nothing to do", 2);
  recorder.flatten();
  check_activation(recorder, {.channels = 16});
  const Model model = std::move(recorder).finish();
  REQUIRE(model.layers.size() == 3);
  CHECK(model.layers[0].kind == LayerKind::pooling);
  // Nine elements are read and one written, plus the index of the maximum, eight bytes.
  CHECK(recorded_cost(model.layers[0]) == Cost{0, (9 + 1 + 2) * 24, (18 + 1 + 2) * 24, 1, 1, 24});
  CHECK(recorded_cost(model.layers[1]) == Cost{0, (4 + 1) * 24, (8 + 1) * 24, 1, 1, 24});
  CHECK(recorded_cost(model.layers[2]) == Cost{0, (9 + 1) * 16, (18 + 1) * 16, 1, 1, 16});
}

TEST_CASE("catalogue: how many modules of each kind every architecture runs") {
  struct Known {
    const char* name;
    int convolution, linear, attention, normalization, elementwise, pooling, embedding;
  };
  const Known known[] = {
      // Each block has two or three units, and each downsampling has one. A sum and a ReLU follow
      // each block.
      {"resnet18", 1 + 16 + 3, 1, 0, 20, 1 + 8 * 3, 2, 0},
      {"resnet34", 1 + 32 + 3, 1, 0, 36, 1 + 16 * 3, 2, 0},
      {"resnet50", 1 + 48 + 4, 1, 0, 53, 1 + 16 * 4, 2, 0},
      {"resnext101_32x8d", 1 + 99 + 4, 1, 0, 104, 1 + 33 * 4, 2, 0},
      {"vgg16", 13, 3, 0, 0, 13 + 2 + 2, 5, 0},
      {"alexnet", 5, 3, 0, 0, 5 + 2 + 2, 3, 0},
      // 58 layers of two units and a concatenation, and three transitions.
      {"densenet121", 1 + 116 + 3, 1, 0, 121, 58 * 3 + 3 + 2, 5, 0},
      // 96 units, eleven joined blocks and a dropout. Pools: two in the stem, one in each block,
      // one in each of two heads.
      {"inception_v3", 96, 2, 0, 96, 96 + 11 + 1, 2 + 11 + 2, 0},
      // Each of twelve layers has six Linears, two products, two norms, four kernels of attention,
      // two dropouts, two sums and one GELU.
      {"bert-base", 0, 12 * 6 + 1, 24, 24 + 1, 12 * 9 + 4, 0, 3},
      {"gpt2", 0, 12 * 4 + 1, 24, 24 + 1, 12 * 9 + 3, 0, 2},
      // Six encoder layers with one attention, and six decoder layers with two.
      {"transformer-base", 0, 6 * 6 + 6 * 10 + 1, 36, 6 * 2 + 6 * 3, 6 * 10 + 6 * 17 + 3, 0, 2},
  };
  for (const Known& row : known) {
    CAPTURE(row.name);
    const auto model = find_model(row.name);
    REQUIRE(model);
    std::map<LayerKind, int> count;
    for (const Layer& layer : model->layers) ++count[layer.kind];
    CHECK(count[LayerKind::convolution] == row.convolution);
    CHECK(count[LayerKind::linear] == row.linear);
    CHECK(count[LayerKind::attention] == row.attention);
    CHECK(count[LayerKind::normalization] == row.normalization);
    CHECK(count[LayerKind::elementwise] == row.elementwise);
    CHECK(count[LayerKind::pooling] == row.pooling);
    CHECK(count[LayerKind::embedding] == row.embedding);
  }
}

TEST_CASE("catalogue: the blocks of a model are adjacent") {
  struct Known {
    const char* name;
    std::size_t blocks;
  };
  for (const Known& row :
       {Known{"resnet50", 0}, {"bert-base", 12}, {"gpt2-xl", 48}, {"transformer-base", 12}}) {
    CAPTURE(row.name);
    const Model model = find_model(row.name).value();
    REQUIRE(model.blocks.size() == row.blocks);
    std::size_t end = 1;  // after the embedding
    for (const Block& block : model.blocks) {
      CHECK(block.first >= end);
      CHECK(block.last > block.first);
      end = block.last;
    }
    CHECK(end < model.layers.size());
  }
  // The blocks of the encoder are adjacent, and so are those of the decoder. An embedding is
  // between the two.
  const std::vector<Block> blocks = find_model("transformer-base").value().blocks;
  for (std::size_t k = 1; k < blocks.size(); ++k)
    CHECK((blocks[k].first == blocks[k - 1].last) == (k != 6));
  CHECK(blocks[7].last - blocks[7].first > blocks[1].last - blocks[1].first);
}

TEST_CASE("catalogue: kind and size of samples, default batch, and most tokens") {
  struct Known {
    const char* name;
    SampleKind sample;
    std::int64_t size, batch;
    std::optional<std::int64_t> most;
  };
  const Known known[] = {{"resnet50", SampleKind::image, 224, 32, {}},
                         {"alexnet", SampleKind::image, 224, 128, {}},
                         {"inception_v3", SampleKind::image, 299, 32, {}},
                         {"bert-base", SampleKind::sequence, 128, 32, 512},
                         {"bert-large", SampleKind::sequence, 128, 16, 512},
                         {"gpt2", SampleKind::sequence, 1024, 8, 1024},
                         {"gpt2-xl", SampleKind::sequence, 1024, 1, 1024},
                         {"transformer-base", SampleKind::sequence, 32, 128, 1024}};
  for (const Known& row : known) {
    CAPTURE(row.name);
    const Model model = find_model(row.name).value();
    CHECK(model.sample == row.sample);
    CHECK(model.sample_size == row.size);
    CHECK(model.default_batch == row.batch);
    CHECK(most_tokens(row.name) == row.most);
    CHECK(find_model(row.name, 1).has_value() == row.most.has_value());
    CHECK(find_model(row.name, row.most.value_or(1)).has_value() == row.most.has_value());
    CHECK_FALSE(find_model(row.name, row.most.value_or(0) + 1).has_value());
    CHECK_FALSE(find_model(row.name, 0).has_value());
  }
  CHECK_FALSE(most_tokens("bert"));
  CHECK_FALSE(find_model("bert", 8));
  CHECK(find_model("bert-base", 7).value().sample_size == 7);
}
