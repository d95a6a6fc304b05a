// Digests of complete models: those of the catalogue, and for each type of config.json the model of
// its class with all defaults.
#include "model_digest.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/models/model_config.hpp"

using namespace ddpsim;

namespace {

struct Digested {
  std::string name;
  std::string digest;  ///< or the error message
};

}  // namespace

TEST_CASE("model digests: every model of the catalogue") {
  const std::vector<Digested> models = {
      {"resnet18", "d1b9e8b44bbbd74e"},
      {"resnet34", "e333c3fa99533786"},
      {"resnet50", "9ca2726158ae87c2"},
      {"resnet101", "c6295326632e7112"},
      {"resnet152", "489269721fe67c34"},
      {"resnext50_32x4d", "8dbda481d5c66dc2"},
      {"resnext101_32x4d", "db80158bb437a3ce"},
      {"resnext101_32x8d", "d39c95ce8d9d4be6"},
      {"vgg11", "161182d6106e6212"},
      {"vgg13", "cf21361a2f9e4184"},
      {"vgg16", "91dca30f04f114e4"},
      {"vgg19", "3b768be03ed6d322"},
      {"alexnet", "cb538f4b5a2e7126"},
      {"densenet121", "c451bb92709f4b06"},
      {"inception_v3", "ea440e096c448e88"},
      {"vit_b_16", "b528ddc143c97d53"},
      {"vit_b_32", "10be22693e6e88c4"},
      {"vit_l_16", "220a562ce5578446"},
      {"vit_l_32", "de6723326e7a7f99"},
      {"vit_h_14", "648d4e90573aa948"},
      {"swin_t", "eee2a0638e65ff2e"},
      {"swin_s", "696cea0fdbcdc1c4"},
      {"swin_b", "f0549ef08bdb3e84"},
      {"convnext_tiny", "fea60c2370161562"},
      {"convnext_small", "57e700398bf6b420"},
      {"convnext_base", "d6fbe075807aeaa6"},
      {"convnext_large", "e0b9b032d7e0e5e4"},
      {"efficientnet_b0", "c1d26ac79e1a9546"},
      {"efficientnet_b1", "0941d98ebe1234da"},
      {"efficientnet_b2", "86f23c70d2c34da8"},
      {"efficientnet_b3", "14713482240548ef"},
      {"efficientnet_b4", "6787d6e16e6f74bf"},
      {"efficientnet_b5", "65bd53dfa3d48757"},
      {"efficientnet_b6", "289e87e9102f398b"},
      {"efficientnet_b7", "d39ba4b2119ddef4"},
      {"efficientnet_v2_s", "488cfeaf5b502ec3"},
      {"efficientnet_v2_m", "380e3dae0916ae99"},
      {"efficientnet_v2_l", "b11418e1892ceacd"},
      {"mobilenet_v2", "d7d367efb478a426"},
      {"mobilenet_v3_small", "0a6bb3297c2f2262"},
      {"mobilenet_v3_large", "bd2fa6ba9a97d128"},
      {"unet-sd1.5", "4252e7fc8c60037f"},
      {"unet-sdxl", "3ea0822597e43c3a"},
      {"bert-base", "de44a1346ac5efb0"},
      {"bert-large", "2f9e7db937187009"},
      {"gpt2", "0b8032a5d1db72b3"},
      {"gpt2-medium", "7fd815c20c0e44a2"},
      {"gpt2-large", "43e48f18ae37272f"},
      {"gpt2-xl", "99ae65fe115729b2"},
      {"transformer-base", "e42f667a1dbd14f5"},
      {"transformer-big", "1209a325a68f47a5"},
      {"llama2-7b", "231756e781c32a63"},
      {"llama2-13b", "a550794fa40dc288"},
      {"llama2-34b", "6ee3a2277c653368"},
      {"llama2-70b", "1dc790c90bf7355f"},
      {"llama3-8b", "45e534e62e96a5ac"},
      {"llama3-70b", "761eadfc378ecf3b"},
      {"llama3-405b", "81fd642db7cb4847"},
      {"llama3.2-1b", "30b1b8bb45cb7cd7"},
      {"llama3.2-3b", "71bfc208e51613d7"},
      {"tinyllama-1.1b", "10b71225a9040860"},
      {"yi-6b", "a4b80ac379dfac96"},
      {"mistral-7b", "1088665d99e86869"},
      {"qwen2.5-0.5b", "a10ceba40e07791f"},
      {"qwen2.5-1.5b", "932af6a646a41fb3"},
      {"qwen2.5-3b", "1170b9b676f438e2"},
      {"qwen2.5-7b", "2b0d0be5b9f19f3e"},
      {"qwen2.5-14b", "40727b16b888002c"},
      {"qwen2.5-32b", "78e8b6de072f07d5"},
      {"qwen2.5-72b", "eb54a54cf333da97"},
      {"mpt-125m", "bf3c4a0df82faab5"},
      {"mpt-350m", "1b554d96a840c4d2"},
      {"mpt-760m", "20219ac2d0dc222d"},
      {"mpt-1b", "77ce7b1cc4368a8d"},
      {"mpt-3b", "73d0a379a7319113"},
      {"mpt-7b", "aecdc3e15c677c64"},
      {"mpt-13b", "bcfba0fcd891ce58"},
      {"mpt-30b", "c123a2ed0f3b3633"},
      {"mpt-70b", "600bfd6463bf3fd8"},
      {"opt-125m", "82099c8768e9a9cb"},
      {"opt-350m", "5edba217a7ff1fdd"},
      {"opt-1.3b", "fa137f38d2b8d5d0"},
      {"opt-2.7b", "a5a0f1ac38c086a6"},
      {"opt-6.7b", "db352dc75e097458"},
      {"opt-13b", "6a03b15ccd61d1a6"},
      {"opt-30b", "595efc58a55686fd"},
      {"opt-66b", "e760512ad7147d20"},
      {"bloom-560m", "9a72fbea6116df23"},
      {"bloom-1b1", "08636c135e094a9f"},
      {"bloom-7b1", "356569d8d15865d3"},
      {"gpt-neox-20b", "5d958d3b20646eff"},
      {"gpt-j-6b", "6490e47047605032"},
      {"falcon-7b", "0c7d32870d894799"},
      {"falcon-40b", "0a34fa82694d63a8"},
      {"t5-small", "248b98b42b86c8b2"},
      {"t5-base", "0008c2aef00ca40a"},
      {"t5-large", "6d7f961e0c40a87e"},
      {"t5-3b", "e782762b26a3eb64"},
      {"t5-11b", "a70a0911ef1964da"},
      {"qwen3-0.6b", "0ff33cf5f2631056"},
      {"qwen3-1.7b", "f68b78ef2012b289"},
      {"qwen3-4b", "2a15c30a6076abfb"},
      {"qwen3-8b", "06516b1d46a1dc2a"},
      {"qwen3-14b", "756aa2588425da9e"},
      {"qwen3-32b", "a876a4c7a24223db"},
      {"qwen3-30b-a3b", "faa44085937a8e7b"},
      {"qwen3-235b-a22b", "93f5d0f4ff226469"},
      {"gemma-2b", "64b8ae2fc46106f5"},
      {"gemma-7b", "06ff2061a9eef3ad"},
      {"gemma2-2b", "a90a013f879611a3"},
      {"gemma2-9b", "1842bcb752be7a1c"},
      {"gemma2-27b", "920a1498356a1888"},
      {"gemma3-1b", "aba9917061814d8e"},
      {"mixtral-8x7b", "74c1092c84726a9b"},
      {"mixtral-8x22b", "0240e5a6fea8c984"},
      {"deepseek-v2-lite", "f32d3f24434a5ebe"},
      {"gpt-oss-20b", "ac90dc818de23a84"},
      {"gpt-oss-120b", "d60ef4ddee6a2e5f"},
      {"olmoe-1b-7b", "5379c22c56abe6d0"},
      {"phi-2", "dbd4060ff994edb3"},
      {"phi-3-mini", "ae401e07d5749b88"},
      {"phi-4", "1e676e1a5c2647fa"},
      {"olmo2-7b", "9f3fa9b3933d433a"},
      {"smollm2-135m", "e5443f7e05f722d3"},
      {"smollm2-1.7b", "c15fac2beb04a623"},
      {"roberta-base", "c306d45e06c00331"},
      {"roberta-large", "5da511bc7ef90b70"},
      {"xlm-roberta-base", "2439d432e8622cf5"},
      {"distilbert-base", "daec707c1534e67c"},
      {"deberta-v3-base", "e675f8c5d6568b6a"},
      {"modernbert-base", "08a066e1ba97e399"},
      {"modernbert-large", "84d4a4a6b6be1946"},
      {"bart-base", "a105c63460c88728"},
      {"bart-large", "d3f177154a9fdb4a"},
      {"whisper-tiny", "844bb97049843e4c"},
      {"whisper-base", "3a069ce9927b0502"},
      {"whisper-small", "33d8fbb71bfd7e39"},
      {"whisper-medium", "d869c8405e8a3238"},
      {"whisper-large-v3", "1c9d8ec11f5a4477"},
      {"wav2vec2-base", "43f5089f1b33e9af"},
      {"wav2vec2-large", "cece21631dcb4c57"},
      {"hubert-base", "c0af10d7d8730c91"},
      {"clip-vit-b-32", "40f5be519f52b58e"},
      {"clip-vit-b-16", "fad3bf4fe22d09a0"},
      {"clip-vit-l-14", "e3d16668696f13ff"},
      {"dinov2-base", "5c89ce68682ee508"},
      {"dinov2-large", "efd58cd589039bb1"},
  };
  const std::vector<std::string> names = model_names();
  REQUIRE(names.size() == models.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i] == models[i].name);
    CHECK_MESSAGE(model_digest::digest_of(*describe_model(names[i])) == models[i].digest, names[i]);
  }
}

TEST_CASE("model digests: every type of config.json with its defaults") {
  const std::vector<Digested> types = {
      {"llama", "166cccaede32a701"},
      {"mistral", "faae0deb228dfc34"},
      {"mixtral", "b4fa29c28b92531a"},
      {"qwen2", "f7ceed41da449633"},
      {"qwen3", "5c9bef8e4f266224"},
      {"qwen2_moe", "7d6f35b398fd565b"},
      {"qwen3_moe", "6db7a9f9d3100a11"},
      {"gemma", "e9da5dac4ce68d4c"},
      {"gemma2", "ed114dec39219f3a"},
      {"gemma3_text", "3ae7d62f3ab760ad"},
      {"gemma4_text",
       "c.json: embeddings for each layer are not supported. Record the job instead"},
      {"phi", "9e9ec5269e9defa1"},
      {"phi3", "74f44b66f9cda147"},
      {"olmo", "cd8c707de5e183a9"},
      {"olmo2", "e913d2b6b4e2ef1d"},
      {"olmoe", "2ed1237168fc7fe7"},
      {"deepseek_v2", "60702104ff0abf8e"},
      {"deepseek_v3", "4a93e09ae5bddc00"},
      {"gpt_oss", "9cc08e2fb35f2a56"},
      {"stablelm", "4e039b72729aed1f"},
      {"granite", "2748ea5998dcc5e6"},
      {"granitemoe", "59154bea95e15575"},
      {"glm", "53f7652d04135ef7"},
      {"glm4", "15aa2038cc8f931f"},
      {"glm4_moe", "c.json: hidden_size 4096 is not a multiple of num_attention_heads 96"},
      {"cohere", "5eba05c3e34de41d"},
      {"cohere2", "f7f542bee963b17c"},
      {"starcoder2", "036bf275cc40d07a"},
      {"smollm3", "201fd47a37050cff"},
      {"nemotron",
       "c.json: num_key_value_heads is missing. Add it: its class has no default for it"},
      {"gpt2", "f367e8df4bef07d6"},
      {"gpt_neox", "5ad134debbefd704"},
      {"opt", "753b6138d05e3579"},
      {"bloom", "319c883b9735f6ab"},
      {"mpt", "85ef124bb9a25ffe"},
      {"gptj", "1a602029ec1bccb2"},
      {"falcon", "595da4493de17c83"},
      {"bert", "d58c2a431016cbce"},
      {"roberta", "6ae98adf81f2e081"},
      {"xlm-roberta", "7eaa18e0ef08232d"},
      {"distilbert", "4bbbac56fc026dfb"},
      {"albert", "89acad78aab24c97"},
      {"electra", "1d09c959434145f5"},
      {"deberta-v2", "f772f6a5e80306c9"},
      {"modernbert", "bfd1a64ca2382838"},
      {"t5", "82c3b30fcb5614d1"},
      {"mt5", "9ffb3ad5a624bc3f"},
      {"bart", "d852bc436a1367d0"},
      {"mbart", "f2c117d9c208db1c"},
      {"pegasus", "62e4729ab42242e2"},
      {"marian", "d7d28b72897a2a81"},
      {"whisper", "495a0314e7bcea26"},
      {"vit", "0bdef1914ebd698a"},
      {"deit", "2b568b8f49aef7df"},
      {"beit", "16cb8369917831b5"},
      {"dinov2", "e6e8afc765100e33"},
      {"dinov2_with_registers", "bca03d0160cd7863"},
      {"swin", "6b341d7b62f906bc"},
      {"convnext", "736b931a43f7a929"},
      {"convnextv2", "b49babe7cdf05fc3"},
      {"wav2vec2", "80d8738d7b8caf2c"},
      {"hubert", "77a331c350052931"},
  };
  std::size_t at = 0;
  for (const std::string& type : config_model_types()) {
    std::string digest;
    const std::string complaint = complaint_of([&] {
      digest =
          model_digest::digest_of(model_of_config(R"({"model_type":")" + type + R"("})", "c.json"));
    });
    // A model with image and text needs two nested configs.
    if (complaint == "c.json: text_config is missing. Give the config.json as it was saved")
      continue;
    REQUIRE(at < types.size());
    CHECK(type == types[at].name);
    CHECK_MESSAGE((complaint.empty() ? digest : complaint) == types[at].digest, type);
    ++at;
  }
  CHECK(at == types.size());
}
