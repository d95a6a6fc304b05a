// Models over text, by the dimensions of their blocks.
#include <utility>

#include "catalogue_entries.hpp"

namespace ddpsim {
namespace {

/// A decoder with positions that have no parameters, trained on `tokens`.
CatalogueEntry decoder(std::string_view name, ModelShape shape, std::int64_t tokens,
                       std::int64_t batch, std::string_view source) {
  return {name, std::move(shape), batch, tokens, kMostTokens, AttentionKernel::sdpa, source};
}

/// MPT's sizes for each width. Heads have 128 features unless the source says otherwise.
CatalogueEntry mpt(std::string_view name, std::int64_t layers, std::int64_t hidden,
                   std::int64_t heads, std::int64_t batch) {
  return decoder(name,
                 MptShape{.layers = layers,
                          .hidden = hidden,
                          .heads = heads,
                          .feed_forward = 4 * hidden,
                          .vocabulary = 50368},
                 2048, batch, "mosaicml/llm-foundry, scripts/train/yamls/pretrain");
}

CatalogueEntry opt(std::string_view name, const OptShape& shape, std::int64_t batch) {
  constexpr std::int64_t kPositions = 2048;
  OptShape whole = shape;
  whole.feed_forward = 4 * shape.hidden;
  whole.vocabulary = 50272;
  whole.positions = kPositions;
  if (whole.embedded == 0) whole.embedded = shape.hidden;
  return {name,
          whole,
          batch,
          kPositions,
          kPositions,
          AttentionKernel::sdpa,
          "Zhang et al. (2022), table 1; config.json of facebook/opt-*"};
}

CatalogueEntry bloom(std::string_view name, std::int64_t layers, std::int64_t hidden,
                     std::int64_t heads, std::int64_t batch) {
  CatalogueEntry entry = decoder(
      name, BloomShape{.layers = layers, .hidden = hidden, .heads = heads, .vocabulary = 250880},
      2048, batch, "BLOOM (2022), table 3; config.json of bigscience/bloom-*");
  entry.attention = AttentionKernel::eager;  // transformers has no other kernel for it
  return entry;
}

/// The scores' bias has a gradient, which needs the scores, so no fused kernel is used.
CatalogueEntry t5(std::string_view name, const T5Shape& shape, std::int64_t batch) {
  T5Shape whole = shape;
  whole.decoder_layers = shape.layers;
  whole.vocabulary = 32128;
  return {name,
          whole,
          batch,
          512,
          kMostTokens,
          AttentionKernel::eager,
          "Raffel et al. (2020), section 3.7; config.json of google-t5/t5-*"};
}

}  // namespace

std::vector<CatalogueFamily> text_catalogue() {
  return {
      {"BERT",
       {{"bert-base", BertShape{12, 768, 12, 3072}, 32, 128, kBertPositions},
        {"bert-large", BertShape{24, 1024, 16, 4096}, 16, 128, kBertPositions}}},
      {"GPT-2",
       {{"gpt2", Gpt2Shape{12, 768, 12, 3072}, 8, kGpt2Positions, kGpt2Positions},
        {"gpt2-medium", Gpt2Shape{24, 1024, 16, 4096}, 4, kGpt2Positions, kGpt2Positions},
        {"gpt2-large", Gpt2Shape{36, 1280, 20, 5120}, 2, kGpt2Positions, kGpt2Positions},
        {"gpt2-xl", Gpt2Shape{48, 1600, 25, 6400}, 1, kGpt2Positions, kGpt2Positions}}},
      {"Transformer (fairseq)",
       {{"transformer-base", TransformerShape{512, 2048, 8}, 128, 32, kTransformerPositions},
        {"transformer-big", TransformerShape{1024, 4096, 16}, 128, 32, kTransformerPositions}}},
      // Layers, features, heads, key heads, features per head, feed-forward, vocabulary.
      {"Llama, Yi, Mistral",
       {decoder("llama2-7b", LlamaShape{32, 4096, 32, 32, 128, 11008, 32000}, 4096, 1,
                "config.json of meta-llama/Llama-2-7b-hf"),
        decoder("llama2-13b", LlamaShape{40, 5120, 40, 40, 128, 13824, 32000}, 4096, 1,
                "config.json of meta-llama/Llama-2-13b-hf"),
        decoder("llama2-34b", LlamaShape{48, 8192, 64, 8, 128, 22016, 32000}, 4096, 1,
                "config.json of codellama/CodeLlama-34b-hf, which continues it"),
        decoder("llama2-70b", LlamaShape{80, 8192, 64, 8, 128, 28672, 32000}, 4096, 1,
                "config.json of meta-llama/Llama-2-70b-hf"),
        decoder("llama3-8b", LlamaShape{32, 4096, 32, 8, 128, 14336, 128256}, 8192, 1,
                "The Llama 3 Herd of Models (2024), table 3"),
        decoder("llama3-70b", LlamaShape{80, 8192, 64, 8, 128, 28672, 128256}, 8192, 1,
                "The Llama 3 Herd of Models (2024), table 3"),
        decoder("llama3-405b", LlamaShape{126, 16384, 128, 8, 128, 53248, 128256}, 8192, 1,
                "The Llama 3 Herd of Models (2024), table 3"),
        decoder("llama3.2-1b", LlamaShape{16, 2048, 32, 8, 64, 8192, 128256, true}, 8192, 1,
                "config.json of meta-llama/Llama-3.2-1B"),
        decoder("llama3.2-3b", LlamaShape{28, 3072, 24, 8, 128, 8192, 128256, true}, 8192, 1,
                "config.json of meta-llama/Llama-3.2-3B"),
        decoder("tinyllama-1.1b", LlamaShape{22, 2048, 32, 4, 64, 5632, 32000}, 2048, 4,
                "Zhang et al., TinyLlama (2024), table 2"),
        decoder("yi-6b", LlamaShape{32, 4096, 32, 4, 128, 11008, 64000}, 4096, 1,
                "config.json of 01-ai/Yi-6B"),
        decoder("mistral-7b", LlamaShape{32, 4096, 32, 8, 128, 14336, 32000}, 4096, 1,
                "Jiang et al., Mistral 7B (2023), table 1")}},
      {"Qwen2.5",
       {decoder("qwen2.5-0.5b", LlamaShape{24, 896, 14, 2, 64, 4864, 151936, true, true}, 4096, 4,
                "config.json of Qwen/Qwen2.5-0.5B"),
        decoder("qwen2.5-1.5b", LlamaShape{28, 1536, 12, 2, 128, 8960, 151936, true, true}, 4096, 2,
                "config.json of Qwen/Qwen2.5-1.5B"),
        decoder("qwen2.5-3b", LlamaShape{36, 2048, 16, 2, 128, 11008, 151936, true, true}, 4096, 1,
                "config.json of Qwen/Qwen2.5-3B"),
        decoder("qwen2.5-7b", LlamaShape{28, 3584, 28, 4, 128, 18944, 152064, false, true}, 4096, 1,
                "config.json of Qwen/Qwen2.5-7B"),
        decoder("qwen2.5-14b", LlamaShape{48, 5120, 40, 8, 128, 13824, 152064, false, true}, 4096,
                1, "config.json of Qwen/Qwen2.5-14B"),
        decoder("qwen2.5-32b", LlamaShape{64, 5120, 40, 8, 128, 27648, 152064, false, true}, 4096,
                1, "config.json of Qwen/Qwen2.5-32B"),
        decoder("qwen2.5-72b", LlamaShape{80, 8192, 64, 8, 128, 29568, 152064, false, true}, 4096,
                1, "config.json of Qwen/Qwen2.5-72B")}},
      {"MPT",
       {mpt("mpt-125m", 12, 768, 12, 16), mpt("mpt-350m", 24, 1024, 16, 8),
        mpt("mpt-760m", 24, 1536, 12, 8), mpt("mpt-1b", 24, 2048, 16, 8),
        mpt("mpt-3b", 32, 2560, 20, 4), mpt("mpt-7b", 32, 4096, 32, 1),
        mpt("mpt-13b", 40, 5120, 40, 1), mpt("mpt-30b", 48, 7168, 56, 1),
        mpt("mpt-70b", 80, 8192, 64, 1)}},
      {"OPT",
       {opt("opt-125m", {.layers = 12, .hidden = 768, .heads = 12}, 8),
        opt("opt-350m",
            {.layers = 24, .hidden = 1024, .heads = 16, .embedded = 512, .norm_first = false}, 4),
        opt("opt-1.3b", {.layers = 24, .hidden = 2048, .heads = 32}, 2),
        opt("opt-2.7b", {.layers = 32, .hidden = 2560, .heads = 32}, 1),
        opt("opt-6.7b", {.layers = 32, .hidden = 4096, .heads = 32}, 1),
        opt("opt-13b", {.layers = 40, .hidden = 5120, .heads = 40}, 1),
        opt("opt-30b", {.layers = 48, .hidden = 7168, .heads = 56}, 1),
        opt("opt-66b", {.layers = 64, .hidden = 9216, .heads = 72}, 1)}},
      {"BLOOM",
       {bloom("bloom-560m", 24, 1024, 16, 4), bloom("bloom-1b1", 24, 1536, 16, 2),
        bloom("bloom-7b1", 30, 4096, 32, 1)}},
      {"GPT-NeoX, GPT-J, Falcon",
       {decoder("gpt-neox-20b", GptNeoxShape{44, 6144, 64, 24576, 50432, 24}, 2048, 1,
                "Black et al. (2022), table 1; config.json of EleutherAI/gpt-neox-20b"),
        {"gpt-j-6b", GptjShape{28, 4096, 16, 16384, 50400, 2048, 64}, 1, 2048, 2048,
         AttentionKernel::sdpa, "config.json of EleutherAI/gpt-j-6b"},
        // One key head serves all heads. None of PyTorch's fused kernels supports this.
        {"falcon-7b", FalconShape{32, 4544, 71, 1, 18176, 65024}, 1, 2048, kMostTokens,
         AttentionKernel::eager, "config.json of tiiuae/falcon-7b"},
        decoder("falcon-40b", FalconShape{60, 8192, 128, 8, 32768, 65024, true, true}, 2048, 1,
                "config.json of tiiuae/falcon-40b")}},
      // Layers, decoder layers (0: as many), features, heads, features per head, feed-forward.
      {"T5",
       {t5("t5-small", T5Shape{6, 0, 512, 8, 64, 2048}, 16),
        t5("t5-base", T5Shape{12, 0, 768, 12, 64, 3072}, 8),
        t5("t5-large", T5Shape{24, 0, 1024, 16, 64, 4096}, 4),
        t5("t5-3b", T5Shape{24, 0, 1024, 32, 128, 16384}, 1),
        t5("t5-11b", T5Shape{24, 0, 1024, 128, 128, 65536}, 1)}},
  };
}

}  // namespace ddpsim
