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
      {"resnet18", "9d16338c28cd2a6c"},
      {"resnet34", "25b184e70ed6a562"},
      {"resnet50", "6b13ef1f86a77b24"},
      {"resnet101", "a5fe38c2c9ad8c42"},
      {"resnet152", "0e67c95f094395a4"},
      {"resnext50_32x4d", "ecf09666d0aa8322"},
      {"resnext101_32x4d", "1ffd44b675df2e40"},
      {"resnext101_32x8d", "a5c66bff14297724"},
      {"vgg11", "484dd8614835f98e"},
      {"vgg13", "d741b2d6492c766c"},
      {"vgg16", "53ba46b1cd18333a"},
      {"vgg19", "97d4b41e7650783e"},
      {"alexnet", "eb48997799aa8d5e"},
      {"densenet121", "a48df8e42cf05ffe"},
      {"inception_v3", "23778b50eea42906"},
      {"vit_b_16", "43dfdf8e5d5923cc"},
      {"vit_b_32", "b4a222043d37f5d6"},
      {"vit_l_16", "0a8680b6bba69302"},
      {"vit_l_32", "2751a227fc9b8cf0"},
      {"vit_h_14", "1b93596f25eb473d"},
      {"swin_t", "ebf55a5429ccc432"},
      {"swin_s", "b5cfdaadd0d82d4e"},
      {"swin_b", "8e7d5b747e12ed2c"},
      {"convnext_tiny", "d9f8905cdc1db6f6"},
      {"convnext_small", "c82a24d6089ec6d8"},
      {"convnext_base", "8e5287c353da9e54"},
      {"convnext_large", "60f4a626966f23e6"},
      {"efficientnet_b0", "e48b6e98ddc52200"},
      {"efficientnet_b1", "63e52cf59b0a6372"},
      {"efficientnet_b2", "99428b48b873e258"},
      {"efficientnet_b3", "2ac0dcbbc7d610fd"},
      {"efficientnet_b4", "e17b7dcd91964b17"},
      {"efficientnet_b5", "fe33fb8dded1d779"},
      {"efficientnet_b6", "2acae881a9002193"},
      {"efficientnet_b7", "cec123297e66ba20"},
      {"efficientnet_v2_s", "95cab1e6f0be4105"},
      {"efficientnet_v2_m", "bf9e65cc85d1ce71"},
      {"efficientnet_v2_l", "bc993e05663a8229"},
      {"mobilenet_v2", "677b4e97d7635c62"},
      {"mobilenet_v3_small", "ef91e6df2405f67e"},
      {"mobilenet_v3_large", "d4a3b688ebfb323e"},
      {"unet-sd1.5", "1044964501e35906"},
      {"unet-sdxl", "36450cefd653b437"},
      {"bert-base", "cab25a19776c7a4c"},
      {"bert-large", "9bd8d5ad3812c1f5"},
      {"gpt2", "a33e6d882f8622c9"},
      {"gpt2-medium", "f4910dd952cc27d6"},
      {"gpt2-large", "6a934a519f29f6d0"},
      {"gpt2-xl", "14726300b7594107"},
      {"transformer-base", "201f782eb3c3db7b"},
      {"transformer-big", "d34792bf827e7cb3"},
      {"llama2-7b", "c98850591ca49029"},
      {"llama2-13b", "f6a45ba4c0fb509a"},
      {"llama2-34b", "14df80d8a0d53f86"},
      {"llama2-70b", "62f1a003b001cccd"},
      {"llama3-8b", "48c883deb70641a5"},
      {"llama3-70b", "42b5990273746b0b"},
      {"llama3-405b", "43623ce1465c63f0"},
      {"llama3.2-1b", "fb051bd23a501bc6"},
      {"llama3.2-3b", "7cbbea3ce2eb183d"},
      {"tinyllama-1.1b", "abc44a175b63b59b"},
      {"yi-6b", "4f796ac0236f082a"},
      {"mistral-7b", "3c6ce8accb1e8430"},
      {"qwen2.5-0.5b", "d2c451a711e219de"},
      {"qwen2.5-1.5b", "11195b092bdbe44f"},
      {"qwen2.5-3b", "0e11625a7854c309"},
      {"qwen2.5-7b", "428ff01d99cda4df"},
      {"qwen2.5-14b", "26ee5b30507e8ead"},
      {"qwen2.5-32b", "84a0bbdf9c78aa57"},
      {"qwen2.5-72b", "b714a5c070a7d09d"},
      {"mpt-125m", "bf889e76945693f1"},
      {"mpt-350m", "a2029b5e783048c9"},
      {"mpt-760m", "528d72bc9b94b442"},
      {"mpt-1b", "c77221718c9a347f"},
      {"mpt-3b", "aba8511b451452f5"},
      {"mpt-7b", "5a19c2e22f77ff17"},
      {"mpt-13b", "0d50d596fac3a347"},
      {"mpt-30b", "7c5a8d2ff5a5876e"},
      {"mpt-70b", "76c5a790e1cb6a33"},
      {"opt-125m", "48a61475bc94a97a"},
      {"opt-350m", "f2adf2f032168a24"},
      {"opt-1.3b", "26482305c862e079"},
      {"opt-2.7b", "148513f23f950dea"},
      {"opt-6.7b", "503a3fb1b9d84273"},
      {"opt-13b", "2035808e81c19c31"},
      {"opt-30b", "2a74688237f7bde5"},
      {"opt-66b", "f8aae7b00102280b"},
      {"bloom-560m", "e6ffbddac10e8b22"},
      {"bloom-1b1", "21861a122306d8fe"},
      {"bloom-7b1", "2576a72f6202d86f"},
      {"gpt-neox-20b", "6b66ee30e8c2f56b"},
      {"gpt-j-6b", "0eba84070e577045"},
      {"falcon-7b", "204eca3a96bfa7cd"},
      {"falcon-40b", "06792c7a09b3f74c"},
      {"t5-small", "9b006e5ca22c2417"},
      {"t5-base", "b9bfc30410255d6f"},
      {"t5-large", "609a3a83fbfc0e4d"},
      {"t5-3b", "4a6320e68580f0cf"},
      {"t5-11b", "100ba683fdbc7c3b"},
      {"qwen3-0.6b", "4c1a53c9d0bd7429"},
      {"qwen3-1.7b", "280e98108eeff194"},
      {"qwen3-4b", "5af78b66387cc4b7"},
      {"qwen3-8b", "7d026348cade6a2c"},
      {"qwen3-14b", "4c09d6f5439e6dd5"},
      {"qwen3-32b", "7d80458726697733"},
      {"qwen3-30b-a3b", "b0d3aec069d9e535"},
      {"qwen3-235b-a22b", "360c1f33724555df"},
      {"gemma-2b", "c729c3f0da43504a"},
      {"gemma-7b", "442ff382f82bcb0f"},
      {"gemma2-2b", "50964e5a9158df6c"},
      {"gemma2-9b", "2dcacbd9a1788cf4"},
      {"gemma2-27b", "288b1e038cb4065d"},
      {"gemma3-1b", "3645dd6b97d033e7"},
      {"mixtral-8x7b", "cc202ea04827dc83"},
      {"mixtral-8x22b", "28f7387152d6c305"},
      {"deepseek-v2-lite", "9ed173ae310a0ac8"},
      {"gpt-oss-20b", "72fc1648665c188b"},
      {"gpt-oss-120b", "4477061c00a43750"},
      {"olmoe-1b-7b", "66bceed321934531"},
      {"phi-2", "23b100f7957da9e9"},
      {"phi-3-mini", "8c5793b0e033d0ee"},
      {"phi-4", "125d9a88b7ea03ed"},
      {"olmo2-7b", "d3d566d8bb886c5c"},
      {"smollm2-135m", "f2ea804acbf81ed0"},
      {"smollm2-1.7b", "99db2078181b42fd"},
      {"roberta-base", "53be069107b7c8e0"},
      {"roberta-large", "c8df9d5b41e456c0"},
      {"xlm-roberta-base", "b7bce79e13a20e57"},
      {"distilbert-base", "9e4bec64959a4c81"},
      {"deberta-v3-base", "bc3859bf040e4949"},
      {"modernbert-base", "f10d270eced3c625"},
      {"modernbert-large", "17888e9d9565d56d"},
      {"bart-base", "2d7bb1a0f03a1bea"},
      {"bart-large", "c88484747d3887a7"},
      {"whisper-tiny", "ff861463c292ce1c"},
      {"whisper-base", "b427fb76a48f06c5"},
      {"whisper-small", "0443a7328934a7ce"},
      {"whisper-medium", "3c27204adc4c2d06"},
      {"whisper-large-v3", "a4b337466f599b91"},
      {"wav2vec2-base", "746d6a3bce5b21f6"},
      {"wav2vec2-large", "e996cff6a478b2bd"},
      {"hubert-base", "3cd222eaaa081109"},
      {"clip-vit-b-32", "152b112c72f67a16"},
      {"clip-vit-b-16", "80789d9e18ab8d4b"},
      {"clip-vit-l-14", "ae4d0930252a153d"},
      {"dinov2-base", "6d9f69b48e2ae6c0"},
      {"dinov2-large", "7c5d42903cc625dd"},
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
      {"llama", "8bab6df80bad741c"},
      {"mistral", "37b531c5818a5aaa"},
      {"mixtral", "3604163fe1958e3d"},
      {"qwen2", "2e3942d02a855f17"},
      {"qwen3", "7a15507c75dd5088"},
      {"qwen2_moe", "cac98cc4302260ac"},
      {"qwen3_moe", "4494d777c2c26283"},
      {"gemma", "665737fe93e67127"},
      {"gemma2", "532916d2c8b6cc0f"},
      {"gemma3_text", "ed8b6540fa289bab"},
      {"gemma4_text",
       "c.json: embeddings for each layer are not supported. Record the job instead"},
      {"phi", "8a59afd5b6cb0ca2"},
      {"phi3", "090cf717cc7d543f"},
      {"olmo", "a5639b6efba4cfea"},
      {"olmo2", "1492bf5125501144"},
      {"olmoe", "eb2539a72a4ede76"},
      {"deepseek_v2", "e1128028c92fa0d2"},
      {"deepseek_v3", "c337c363c14246f5"},
      {"gpt_oss", "6b5cab9fb5185198"},
      {"stablelm", "7b52bf05976684d0"},
      {"granite", "be14d79f02dc86bb"},
      {"granitemoe", "35123ae748b1f10f"},
      {"glm", "cb75fa39f22b39a0"},
      {"glm4", "b4c23ac9ec57cd8b"},
      {"glm4_moe", "c.json: hidden_size 4096 is not a multiple of num_attention_heads 96"},
      {"cohere", "7c396b5bacc9cfd1"},
      {"cohere2", "49b08cfcb3130e0c"},
      {"starcoder2", "372b2c6fce7c4da6"},
      {"smollm3", "0d13a9412f3172ac"},
      {"nemotron",
       "c.json: num_key_value_heads is missing. Add it: its class has no default for it"},
      {"gpt2", "ffc23f2931ca98b7"},
      {"gpt_neox", "4438b29613648950"},
      {"opt", "d20091f4c28bf345"},
      {"bloom", "81c4690d95ee67a0"},
      {"mpt", "03c71a3bdd49ac2f"},
      {"gptj", "c489bfc0b312ecc5"},
      {"falcon", "abe73b81910d0437"},
      {"bert", "6a5af83b3100532b"},
      {"roberta", "3c67b3b49c5b5c27"},
      {"xlm-roberta", "db276eca82683d04"},
      {"distilbert", "5576cd23ac1115a6"},
      {"albert", "c7bb70c40c851998"},
      {"electra", "a470efb90ab404dd"},
      {"deberta-v2", "1a8beb6b16e45a26"},
      {"modernbert", "3b4dc6d9c83efe33"},
      {"t5", "0b0d4cd64bd3a017"},
      {"mt5", "4cfca1a35925388b"},
      {"bart", "50ef6e89e4d98637"},
      {"mbart", "3425ba77dc53049f"},
      {"pegasus", "0fae22c759920712"},
      {"marian", "2107b992f169091e"},
      {"whisper", "c58440b149b99c99"},
      {"vit", "5c79f37d30d447bc"},
      {"deit", "46961d822f1a6169"},
      {"beit", "068eff62c4f7cac7"},
      {"dinov2", "220ac79628485bb4"},
      {"dinov2_with_registers", "7be8e5c652b5b9a0"},
      {"swin", "5448d514a7f4c89e"},
      {"convnext", "f652238041a24987"},
      {"convnextv2", "2fa72c48ae755ec5"},
      {"wav2vec2", "98810299dee36499"},
      {"hubert", "3a452781340f8f2d"},
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
