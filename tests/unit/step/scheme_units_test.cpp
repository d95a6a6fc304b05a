// Which parameters form a unit, and when their modules run in a step.
#include "numbered_model.hpp"
#include "units.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using schemes::parameter;

namespace {

using By = WrapPolicy::By;

/// A workload with parameters of these names, a thousand elements each.
Workload named(const std::vector<std::string>& names) {
  Workload workload;
  for (const std::string& name : names) workload.parameters.push_back(parameter(name, {1000}));
  return workload;
}

/// Units with the parameters they own: "root: 0 4; layers.0: 1 2".
std::string units(const Workload& workload, const WrapPolicy& wrap = {}) {
  std::string text;
  for (const Unit& unit : units_of(workload, wrap)) {
    text += fmt::format("{}{}:", text.empty() ? "" : "; ", unit.name());
    for (const std::size_t parameter : unit.parameters) text += fmt::format(" {}", parameter);
  }
  return text;
}

std::string units(const std::vector<std::string>& names, const WrapPolicy& wrap = {}) {
  return units(named(names), wrap);
}

/// Adds gradients in the reverse order of definition, 10 us each, without those in `unused`.
Workload recorded(Workload workload, const std::vector<std::size_t>& unused = {},
                  Duration each = 10_us) {
  workload.forward = 100_us;
  workload.backward = Backward{};
  for (std::size_t p = workload.parameters.size(); p-- > 0;) {
    if (std::ranges::find(unused, p) != unused.end()) continue;
    workload.backward->duration += each;
    workload.backward->ready.push_back(
        {.parameter = p, .at = workload.backward->duration, .copied_at = {}});
  }
  return workload;
}

struct Hooks {
  std::string forward;
  std::string backward;
};

/// Hooks in the order of calls, with their time in the step: "<root <layers.0 layers.0>".
Hooks hooks(const Workload& workload, const WrapPolicy& wrap = {}) {
  const Job job(workload, small::node(2), small::bare(), FreeModel{});
  const Recording recording(job, job.workload());
  const std::vector<Unit> units = units_of(workload, wrap);
  const std::vector<UnitSpan> spans = spans_of(units, recording);
  const auto text = [&](const UnitHook& hook, const std::string& where) {
    const std::string name = units[hook.unit].name();
    return hook.when == UnitHook::When::before ? fmt::format(" {}<{}", where, name)
                                               : fmt::format(" {}{}>", where, name);
  };
  Hooks hooks;
  for (const UnitHook& hook : forward_hooks(units, spans))
    hooks.forward += text(hook, fmt::format("{:.2f} ", hook.forward));
  for (const UnitHook& hook : backward_hooks(units, spans))
    hooks.backward += text(hook, fmt::format("{} ", hook.gradient));
  return hooks;
}

/// Names of all units except the root.
std::string modules(const Workload& workload, const WrapPolicy& wrap) {
  std::string text;
  for (const Unit& unit : units_of(workload, wrap))
    if (!unit.module.empty()) text += (text.empty() ? "" : " ") + unit.module;
  return text;
}

}  // namespace

TEST_CASE(
    "units: blocks are the elements of a numbered container; everything else belongs to the root") {
  CHECK(units({"transformer.wte.weight", "transformer.h.0.attn.weight", "transformer.h.0.attn.bias",
               "transformer.h.1.attn.weight", "transformer.ln_f.weight", "lm_head.weight"}) ==
        "root: 0 4 5; transformer.h.0: 1 2; transformer.h.1: 3");
  CHECK(units({"bert.embeddings.word.weight", "bert.encoder.layer.0.output.dense.weight",
               "bert.encoder.layer.1.output.dense.weight", "bert.pooler.dense.weight"}) ==
        "root: 0 3; bert.encoder.layer.0: 1; bert.encoder.layer.1: 2");
  // Ten or more elements keep the order of definition, not alphabetical order.
  std::vector<std::string> many;
  for (int layer = 0; layer < 12; ++layer) many.push_back(fmt::format("layers.{}.w.weight", layer));
  CHECK(units(many).find("layers.9: 9; layers.10: 10; layers.11: 11") != std::string::npos);
}

TEST_CASE("units: the outermost of nested numbered containers has the blocks") {
  CHECK(units({"shared.weight", "encoder.block.0.layer.0.SelfAttention.q.weight",
               "encoder.block.0.layer.1.DenseReluDense.wi.weight",
               "encoder.block.1.layer.0.SelfAttention.q.weight",
               "decoder.block.0.layer.0.SelfAttention.q.weight",
               "decoder.block.1.layer.2.DenseReluDense.wi.weight"}) ==
        "root: 0; encoder.block.0: 1 2; encoder.block.1: 3; decoder.block.0: 4; decoder.block.1: "
        "5");
  CHECK(units({"conv1.weight", "layer1.0.conv1.weight", "layer1.0.downsample.0.weight",
               "layer1.0.downsample.1.weight", "layer1.1.conv1.weight", "layer2.0.conv1.weight",
               "layer2.1.conv1.weight", "fc.weight"}) ==
        "root: 0 7; layer1.0: 1 2 3; layer1.1: 4; layer2.0: 5; layer2.1: 6");
}

TEST_CASE("units: a container of plain layers has no blocks") {
  // VGG's features are convolutions and its classifier is linear layers: one module each.
  CHECK(units({"features.0.weight", "features.0.bias", "features.2.weight", "classifier.0.weight",
               "classifier.3.weight"}) == "root: 0 1 2 3 4");
  // The only element of a container is no block either.
  CHECK(units({"layers.0.linear.weight", "head.weight"}) == "root: 0 1");
  // A table's layers are parameters without modules.
  CHECK(units({"conv1", "conv2", "fc"}) == "root: 0 1 2");
  // A numbered name consists of digits only.
  CHECK(units({"layer_0.w.weight", "layer_1.w.weight", "l1x.w.weight", "l2x.w.weight"}) ==
        "root: 0 1 2 3");
}

TEST_CASE("units: the root alone, or no unit if the root owns nothing") {
  CHECK(units({"a.weight", "layers.0.w.weight", "layers.1.w.weight"}, {.by = By::none}) ==
        "root: 0 1 2");
  CHECK(units({"layers.0.w.weight", "layers.1.w.weight"}) == "layers.0: 0; layers.1: 1");
}

TEST_CASE("units: every module with parameters of its own") {
  const WrapPolicy leaves{.by = By::leaves, .modules = {}};
  CHECK(units({"embed.weight", "layers.0.w.weight", "layers.0.w.bias", "layers.0.scale"}, leaves) ==
        "embed: 0; layers.0: 3; layers.0.w: 1 2");
  CHECK(units({"scale", "w.weight"}, leaves) == "root: 0; w: 1");
}

TEST_CASE("units: parameters outside the wrapper are in no unit") {
  Workload workload =
      named({"embed.weight", "layers.0.w.weight", "layers.0.v.weight", "layers.1.w.weight"});
  workload.parameters[0].ignored = true;
  workload.parameters[2].ignored = true;
  CHECK(units(workload) == "layers.0: 1; layers.1: 3");
}

TEST_CASE("units: modules whose paths match a pattern, where a star stays within one name") {
  const std::vector<std::string> names = {"embed.weight",        "layers.0.attn.q.weight",
                                          "layers.0.mlp.weight", "layers.1.attn.q.weight",
                                          "layers.1.mlp.weight", "head.weight"};
  const auto by = [&](std::vector<std::string> patterns) {
    return units(names, {.by = By::modules, .modules = std::move(patterns)});
  };
  CHECK(by({"layers.*", "head"}) == "root: 0; head: 5; layers.0: 1 2; layers.1: 3 4");
  CHECK(by({"layers.*.attn"}) == "root: 0 2 4 5; layers.0.attn: 1; layers.1.attn: 3");
  CHECK(by({"*"}) == "embed: 0; layers: 1 2 3 4; head: 5");
  CHECK(by({"layers.1"}) == "root: 0 1 2 5; layers.1: 3 4");
  CHECK(by({"l*s.*1.*q"}) == "root: 0 1 2 3 4 5");
  CHECK(by({"l*s.*1.a*n"}) == "root: 0 1 2 4 5; layers.1.attn: 3");
  CHECK(by({"nothing"}) == "root: 0 1 2 3 4 5");
  // A unit owns only the parameters that no unit within it owns.
  CHECK(by({"layers.*", "layers.*.attn"}) ==
        "root: 0 5; layers.0: 2; layers.1: 4; layers.0.attn: 1; layers.1.attn: 3");
  // A table's layers are parameters.
  CHECK(units({"conv1", "conv2", "fc"}, {.by = By::modules, .modules = {"conv*"}}) ==
        "root: 2; conv1: 0; conv2: 1");
}

TEST_CASE("units: a pattern of many stars matches quickly") {
  // Each of 30 stars might end at any of 200 letters.
  const std::string name(200, 'a');
  std::string pattern;
  for (int star = 0; star < 30; ++star) pattern += "*a";
  CHECK(units({name + ".weight"}, {.by = By::modules, .modules = {pattern + "b"}}) == "root: 0");
  CHECK(units({name + ".weight"}, {.by = By::modules, .modules = {pattern}}) == name + ": 0");
}

TEST_CASE("units: the innermost unit around one is its parent") {
  const std::vector<Unit> nested =
      units_of(named({"embed.weight", "stages.0.norm.weight", "stages.0.up.linear.weight"}),
               {.by = By::modules, .modules = {"stages.0", "stages.0.up.linear"}});
  REQUIRE(nested.size() == 3);
  CHECK_FALSE(nested[0].parent);
  CHECK(nested[1].parent == 0);
  CHECK(nested[2].parent == 1);
}

TEST_CASE("units: by size, as size_based_auto_wrap_policy of PyTorch 2.13 wraps the lab's model") {
  // Layers 0 and 2 have 876 elements (434 in up, 416 in down), layers 1 and 3 have 498, embedding
  // and head have 299.
  const auto of = [](std::int64_t least) {
    return modules(schemes::numbered(), {.by = By::size, .min_num_params = least});
  };
  CHECK(of(100) ==
        "embedding head layers.0.up layers.0.down layers.1.up layers.1.down layers.2.up "
        "layers.2.down layers.3.up layers.3.down");
  CHECK(of(400) == "layers.1 layers.3 layers.0.up layers.0.down layers.2.up layers.2.down");
  CHECK(of(450) == "layers.0 layers.1 layers.2 layers.3");
  // The list of layers is large enough but never a unit. The root is always one.
  CHECK(of(1000) == "");
  CHECK(of(100'000'000) == "");
}

TEST_CASE("units: by size torch.nn.MultiheadAttention is never split nor wrapped by itself") {
  Workload workload;
  workload.parameters = {parameter("block.attn.in_proj_weight", {300, 100}),
                         parameter("block.attn.out_proj.weight", {100, 100}),
                         parameter("block.mlp.weight", {100, 100}), parameter("head.weight", {10})};
  const auto of = [&](std::int64_t least) {
    return units(workload, {.by = By::size, .min_num_params = least});
  };
  CHECK(of(10'000) == "root: 3; block: 0 1; block.mlp: 2");
  CHECK(of(20'000) == "root: 3; block: 0 1 2");
  CHECK(of(60'000) == "root: 0 1 2 3");
}

TEST_CASE("units: hooks run in the order of calls, at the module's share of backward") {
  // There are five gradients of 10 us: each stands for a fifth of forward, in reverse order.
  const Workload workload =
      recorded(named({"embed.weight", "layers.0.w.weight", "layers.0.v.weight", "layers.1.w.weight",
                      "head.weight"}));
  const Hooks called = hooks(workload);
  CHECK(called.forward ==
        " 0.00 <root 0.20 <layers.0 0.60 layers.0> 0.60 <layers.1 0.80 layers.1> 1.00 root>");
  CHECK(called.backward == " 0 <root 1 <layers.1 1 layers.1> 2 <layers.0 3 layers.0> 4 root>");
}

TEST_CASE("units: a unit within another is called within it") {
  // The order of writing is: head; 1.down, 1.up (a unit of its own), 1.norm; embed.
  const Workload workload =
      recorded(named({"embed.weight", "blocks.1.norm.weight", "blocks.1.up.weight",
                      "blocks.1.down.weight", "head.weight"}));
  const WrapPolicy wrap{.by = By::modules, .modules = {"blocks.*", "blocks.*.up"}};
  const Hooks called = hooks(workload, wrap);
  CHECK(called.forward ==
        " 0.00 <root 0.20 <blocks.1 0.40 <blocks.1.up 0.60 blocks.1.up> 0.80 blocks.1> 1.00 root>");
  CHECK(called.backward ==
        " 0 <root 1 <blocks.1 2 <blocks.1.up 2 blocks.1.up> 3 blocks.1> 4 root>");
  // If the inner unit is written last, the outer one waits for it although its own gradients are
  // there, as in PyTorch.
  const Workload first =
      recorded(named({"embed.weight", "blocks.1.up.weight", "blocks.1.norm.weight",
                      "blocks.1.down.weight", "head.weight"}));
  CHECK(hooks(first, wrap).backward ==
        " 0 <root 1 <blocks.1 3 <blocks.1.up 3 blocks.1.up> 3 blocks.1> 4 root>");
}

TEST_CASE("units: a unit without gradients lies at the end of backward") {
  const Workload workload = recorded(
      named({"embed.weight", "layers.0.w.weight", "layers.1.w.weight", "head.weight"}), {1});
  const Hooks called = hooks(workload);
  CHECK(called.forward ==
        " 0.00 <root 0.00 <layers.0 0.33 layers.0> 0.33 <layers.1 0.67 layers.1> 1.00 root>");
  CHECK(called.backward == " 0 <root 1 <layers.1 1 layers.1> 2 <layers.0 2 layers.0> 2 root>");
}

TEST_CASE("units: layers that take no time are still called in order") {
  const Workload workload =
      recorded(named({"embed.weight", "layers.0.w.weight", "layers.1.w.weight", "head.weight"}), {},
               Duration());
  const Hooks called = hooks(workload);
  CHECK(called.forward ==
        " 0.00 <root 0.00 <layers.0 0.00 layers.0> 0.00 <layers.1 0.00 layers.1> 1.00 root>");
  CHECK(called.backward == " 0 <root 1 <layers.1 1 layers.1> 2 <layers.0 2 layers.0> 3 root>");
}

TEST_CASE("units: a tied weight is one parameter of the module that defines it") {
  // The head's weight is the embedding's. It is written when the embedding's backward has added to
  // it.
  Workload workload = named({"embed.weight", "layers.0.w.weight", "layers.1.w.weight"});
  CHECK(units(workload) == "root: 0; layers.0: 1; layers.1: 2");
  CHECK(hooks(recorded(workload)).backward ==
        " 0 <root 0 <layers.1 0 layers.1> 1 <layers.0 1 layers.0> 2 root>");
}
