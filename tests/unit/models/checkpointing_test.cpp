// What the blocks of a decoder drop under activation checkpointing, when it is computed again, and
// its cost.
#include "ddpsim/models/checkpointing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/kept_activations.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

constexpr const char* kLlama = "llama:layers=3,hidden=64,heads=4,ffn=96,vocab=50@A100:b2:s32:fp32";

Workload estimated(const std::string& suffix, const std::string& spec = kLlama) {
  return estimate_workload(parse_estimate_spec(spec + suffix), find_gpu("A100").value());
}

std::size_t index_of_layer(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &Layer::name);
  REQUIRE(found != model.layers.end());
  return static_cast<std::size_t>(found - model.layers.begin());
}

/// One letter for each layer of the first block: Kept, Saved, Again.
std::string fates_of_first_block(const std::string& suffix, const std::string& spec = kLlama) {
  const EstimateSpec parsed = parse_estimate_spec(spec + suffix);
  const Model model = model_of(parsed);
  const std::vector<LayerFate> fates = layer_fates(model, parsed.checkpointing);
  std::string text;
  for (std::size_t k = model.blocks[0].first; k < model.blocks[0].last; ++k)
    text += fates[k] == LayerFate::kept ? 'K' : fates[k] == LayerFate::saved ? 'S' : 'A';
  return text;
}

Duration forward_of(const std::string& first, const std::string& last) {
  const EstimateSpec spec = parse_estimate_spec(kLlama);
  const Model model = model_of(spec);
  Duration sum;
  for (std::size_t k = index_of_layer(model, first); k <= index_of_layer(model, last); ++k)
    sum += layer_cost(model.layers[k],
                      {.gpu = find_gpu("A100").value(), .precision = Precision::fp32, .batch = 2})
               .forward;
  return sum;
}

}  // namespace

TEST_CASE("checkpointing: the layers of a Llama block that run again") {
  CHECK(fates_of_first_block("") == "KKKKKKKKKKKKKKK");
  // Norm, q, k, v, rotation, attention, o, sum, norm, gate, its function, up, product. The last
  // product is not needed.
  CHECK(fates_of_first_block(":ckpt=full") == "AAAAAAAAAAAAAKK");
  // Every second product is saved, starting with q. The last one is the seventh. It is saved
  // although nothing reads it.
  CHECK(fates_of_first_block(":ckpt=selective") == "ASASASAAASAAASK");
  CHECK(fates_of_first_block(":ckpt=1") == fates_of_first_block(":ckpt=full"));
  CHECK(fates_of_first_block(":ckpt=none") == fates_of_first_block(""));
  // Dropout after the last product keeps a mask, which needs the product.
  const std::string gpt2 = fates_of_first_block(":ckpt=full", "gpt2@A100:s8");
  CHECK(gpt2 == std::string(gpt2.size() - 1, 'A') + "K");
  // BERT's last norm reads the sum before it.
  CHECK(fates_of_first_block(":ckpt=full", "bert-base@A100:s8") ==
        std::string(fates_of_first_block("", "bert-base@A100:s8").size() - 1, 'A') + "K");
}

TEST_CASE("checkpointing: a number selects only the first blocks") {
  const EstimateSpec spec = parse_estimate_spec(std::string(kLlama) + ":ckpt=2");
  const Model model = model_of(spec);
  const std::vector<LayerFate> fates = layer_fates(model, spec.checkpointing);
  CHECK(fates[model.blocks[1].first] == LayerFate::run_again);
  CHECK(fates[model.blocks[2].first] == LayerFate::kept);
  CHECK(layer_fates(model, {.policy = Checkpointing::Policy::full, .blocks = 99}) ==
        layer_fates(model, {.policy = Checkpointing::Policy::full}));
}

TEST_CASE("checkpointing: a block runs again before its first gradient") {
  const Workload plain = estimated("");
  const Workload full = estimated(":ckpt=full");
  const Duration again = forward_of("model.layers.2.input_layernorm", "model.layers.2.mlp.gate");
  CHECK(full.forward == plain.forward);
  CHECK(full.backward->duration == plain.backward->duration + again * 3);
  const auto later = [&](const std::string& parameter) {
    const auto at = [&](const Workload& workload) {
      for (const ReadyEvent& event : workload.backward->ready)
        if (workload.parameters[event.parameter].name == parameter) return event.at;
      return Duration();
    };
    return at(full) - at(plain);
  };
  CHECK(later("lm_head.weight") == Duration());
  CHECK(later("model.norm.weight") == Duration());
  CHECK(later("model.layers.2.mlp.down_proj.weight") == again);
  CHECK(later("model.layers.2.input_layernorm.weight") == again);
  CHECK(later("model.layers.1.mlp.down_proj.weight") == again * 2);
  CHECK(later("model.embed_tokens.weight") == again * 3);
  // The host launches what runs again: norms of eight kernels, six products, attention, three
  // single kernels, and a rotation of ten. Each product is split, which counts 0.35: in all 6.3.
  const auto launched = [](const Workload& workload) {
    std::int64_t sum = 0;
    for (const std::int64_t one : workload.launches->backward) sum += one;
    return sum;
  };
  CHECK(launched(full) - launched(plain) == 3 * (2 * 8 + 10 + 10) + 6);
  const Duration selective = estimated(":ckpt=selective").backward->duration;
  CHECK(selective > plain.backward->duration);
  CHECK(selective < full.backward->duration);
}

TEST_CASE("checkpointing: forward keeps the input of a block and what the policy saves") {
  const std::int64_t tokens = 2 * 32;
  const std::int64_t features = 4 * 64 * tokens;  // bytes of an activation between blocks
  const auto kept = [](const std::string& suffix) {
    return estimated(suffix).activations->bytes.count();
  };
  // Outside blocks: the embedding, the last norm's cast and output, and the loss.
  const std::int64_t outside = features + 2 * features + 4 * 50 * tokens;
  CHECK(kept(":ckpt=full") == outside + 3 * features);
  // Queries, values, the last product and attention are 64 wide. Attention has another number for
  // each head. The gate is 96 wide.
  CHECK(kept(":ckpt=selective") ==
        outside + 3 * (features + 4 * features + 4 * 96 * tokens + 4 * 4 * tokens));
  CHECK(kept(":ckpt=1") - kept(":ckpt=full") == 2 * (kept("") - kept(":ckpt=full")) / 3);
}

TEST_CASE("checkpointing: backward holds one block at a time and frees everything in the end") {
  const Activations plain = *estimated("").activations;
  for (const char* suffix : {":ckpt=full", ":ckpt=selective", ":ckpt=2"}) {
    CAPTURE(suffix);
    const Activations some = *estimated(suffix).activations;
    REQUIRE(some.held.size() == plain.held.size());
    CHECK(some.held.back() == plain.held.back());
    CHECK(*std::ranges::max_element(some.held) < *std::ranges::max_element(plain.held));
    for (std::size_t k = 0; k < some.held.size(); ++k) CHECK(some.held[k] <= plain.held[k]);
  }
  // In the first block, everything has been computed again, so the bytes are the same as without
  // checkpointing.
  const Activations full = *estimated(":ckpt=full").activations;
  CHECK(full.held[full.held.size() - 3] == plain.held[plain.held.size() - 3]);
}

TEST_CASE("checkpointing: its word in a text, a workload's name and provenance") {
  CHECK(estimated(":ckpt=full").name.ends_with(":ckpt=full"));
  CHECK(estimated(":ckpt=2").name.ends_with(":ckpt=2"));
  CHECK(estimated(":ckpt=none").name == estimated("").name);
  const Workload workload = estimated(":ckpt=selective");
  CHECK(std::ranges::count(workload.provenance,
                           std::pair<std::string, std::string>("checkpointing", "selective")) == 1);
  const auto says = [](const std::string& text, const std::string& part) {
    return complaint_of([&] { parse_estimate_spec(text); }).find(part) != std::string::npos;
  };
  for (const char* word : {"", "some", "0", "-1", "2.5", "full,2", "1e3", "FULL"})
    CHECK(says("gpt2@A100:ckpt=" + std::string(word), "ckpt=selective"));
  CHECK(says("gpt2@A100:ckpt=none:ckpt=full", "says again"));
  CHECK(says("resnet18@A100:ckpt=full", "no blocks"));
}
