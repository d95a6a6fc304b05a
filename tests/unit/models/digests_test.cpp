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
      {"resnet18", "9d059e7a650d4672"},
      {"resnet34", "a3a8294ec9499ba2"},
      {"resnet50", "a80c2a303d4930d4"},
      {"resnet101", "d9ff6bf2c72956de"},
      {"resnet152", "6e3571d1c17a590c"},
      {"resnext50_32x4d", "326a6c63cdec09a2"},
      {"resnext101_32x4d", "9579439d2edb4340"},
      {"resnext101_32x8d", "0be39ae8909bfb0a"},
      {"vgg11", "248d5428e0376266"},
      {"vgg13", "3bd0686104f0dd32"},
      {"vgg16", "e4adafb7b80863b2"},
      {"vgg19", "5dcd62a3f5578bd4"},
      {"alexnet", "757d7412b2bad238"},
      {"densenet121", "addb2da2f9bd54ec"},
      {"inception_v3", "645f01868cb6ba68"},
      {"vit_b_16", "0bff5555d30a2cf3"},
      {"vit_b_32", "f01d713149807cf7"},
      {"vit_l_16", "ac758d64b1a11079"},
      {"vit_l_32", "fbcfce98bfc7dcba"},
      {"vit_h_14", "17d84f57825f64ab"},
      {"swin_t", "cc77fb299a0ce77e"},
      {"swin_s", "02c6063ae97b8dc2"},
      {"swin_b", "4f11774421144aca"},
      {"convnext_tiny", "5deb479b96e69d40"},
      {"convnext_small", "d7117de5658c0374"},
      {"convnext_base", "36a1c700ab446234"},
      {"convnext_large", "c2e26fb11fd26a9e"},
      {"efficientnet_b0", "fe4838b490ee7462"},
      {"efficientnet_b1", "3202d420ed4e6bb0"},
      {"efficientnet_b2", "7873041088b8542c"},
      {"efficientnet_b3", "1cb7b0d1e6cd8df7"},
      {"efficientnet_b4", "d8b0c1563871e91d"},
      {"efficientnet_b5", "e0fbd896801d925b"},
      {"efficientnet_b6", "6f5b4913be59f47f"},
      {"efficientnet_b7", "67b8b01f8c9eac2a"},
      {"efficientnet_v2_s", "2f8718a9ec2e9daf"},
      {"efficientnet_v2_m", "3a2ea5382739bc3b"},
      {"efficientnet_v2_l", "80f3931ccc7a342f"},
      {"mobilenet_v2", "2b97ef41953dc136"},
      {"mobilenet_v3_small", "913615fe5412133e"},
      {"mobilenet_v3_large", "2c38e24933edfa80"},
      {"unet-sd1.5", "c59e107d95b67796"},
      {"unet-sdxl", "0c6fd3e07b9ed148"},
      {"bert-base", "c21f06d28bcbacd4"},
      {"bert-large", "41a3e72537a36672"},
      {"gpt2", "3d69be37d0ab40ad"},
      {"gpt2-medium", "fb06cd9e2dc7026a"},
      {"gpt2-large", "21d0779eb275dc01"},
      {"gpt2-xl", "0df02809553900f6"},
      {"transformer-base", "e9ab061e4986a8ab"},
      {"transformer-big", "686c16cf91f889eb"},
      {"llama2-7b", "40c792e7c7a57f50"},
      {"llama2-13b", "5b183f69d0a6abcd"},
      {"llama2-34b", "6d10644072f8ff02"},
      {"llama2-70b", "74a7a53738e2d8db"},
      {"llama3-8b", "5931a732341e6fb9"},
      {"llama3-70b", "c098e61e182e785b"},
      {"llama3-405b", "35514e49d93d9795"},
      {"llama3.2-1b", "846072da495996ee"},
      {"llama3.2-3b", "92a40ba754794b78"},
      {"tinyllama-1.1b", "1dfe7d0441ecfc91"},
      {"yi-6b", "820ea70641506dbd"},
      {"mistral-7b", "61d0b9325f5184a1"},
      {"qwen2.5-0.5b", "2803e7f26cb7be1f"},
      {"qwen2.5-1.5b", "6eefc2509f67cc7b"},
      {"qwen2.5-3b", "2619aa59e7cf91f4"},
      {"qwen2.5-7b", "d64f41690dfecf4e"},
      {"qwen2.5-14b", "3a18c5c8d09a68ee"},
      {"qwen2.5-32b", "93766684bf89e28d"},
      {"qwen2.5-72b", "c336d63ef45ab6d6"},
      {"mpt-125m", "b04d4cfafbecf474"},
      {"mpt-350m", "fd2ed3116954898e"},
      {"mpt-760m", "35415882f44de178"},
      {"mpt-1b", "8b53cac26ad6206a"},
      {"mpt-3b", "e12c5ff7bbabd9e4"},
      {"mpt-7b", "533ab20ee2316365"},
      {"mpt-13b", "1e2b3d01afee2c06"},
      {"mpt-30b", "7f44643b6a76dd6c"},
      {"mpt-70b", "8faecc35aa89d969"},
      {"opt-125m", "f1d0b6f0c5379516"},
      {"opt-350m", "75438065678c67f5"},
      {"opt-1.3b", "555cd02851e91334"},
      {"opt-2.7b", "757fdd5818cc19f8"},
      {"opt-6.7b", "737958a27cb60169"},
      {"opt-13b", "56dc7b3a9b379f55"},
      {"opt-30b", "d75c24dda5e4966f"},
      {"opt-66b", "a900fbc7046321a4"},
      {"bloom-560m", "96f18b331f8f8605"},
      {"bloom-1b1", "c2f375bf67e9a10b"},
      {"bloom-7b1", "8d910fbab86fccab"},
      {"gpt-neox-20b", "a6c9051cd2ff4a81"},
      {"gpt-j-6b", "c69471b425ac1b57"},
      {"falcon-7b", "d572550ae03800d5"},
      {"falcon-40b", "afa33a0957a35454"},
      {"t5-small", "35b7c72138c7182d"},
      {"t5-base", "eebb5f8f140e545b"},
      {"t5-large", "0cbc97e941994e6a"},
      {"t5-3b", "eff488c753da6ab4"},
      {"t5-11b", "0afa646169e4f61e"},
      {"qwen3-0.6b", "389c3ad5b572dea6"},
      {"qwen3-1.7b", "75c31c8c52cf52a5"},
      {"qwen3-4b", "72b1d068166ff0a3"},
      {"qwen3-8b", "5692f89c9e88e1a1"},
      {"qwen3-14b", "983c092e9824ecf8"},
      {"qwen3-32b", "15fc1557c1622f37"},
      {"qwen3-30b-a3b", "60a5299a335d35aa"},
      {"qwen3-235b-a22b", "49a6189f9cc47473"},
      {"gemma-2b", "539571cdd6e7e5a1"},
      {"gemma-7b", "ef496abe526eb420"},
      {"gemma2-2b", "f9b5fe2d9b6f6592"},
      {"gemma2-9b", "41704eda2bf2cd1b"},
      {"gemma2-27b", "cf0237002b3784df"},
      {"gemma3-1b", "7b97f72359dea681"},
      {"mixtral-8x7b", "5c172d5484c1515c"},
      {"mixtral-8x22b", "7f9401e29e0ecf57"},
      {"deepseek-v2-lite", "0cafd1a8346f9d67"},
      {"gpt-oss-20b", "69f9d0b78f39ea61"},
      {"gpt-oss-120b", "0ba15c15d8e9773d"},
      {"olmoe-1b-7b", "9a7b3332fe183e55"},
      {"phi-2", "7d6008cc74250ad4"},
      {"phi-3-mini", "db2ebef9bb465ea9"},
      {"phi-4", "0d5b2a25cd086e0f"},
      {"olmo2-7b", "cc98ee83bb18e83d"},
      {"smollm2-135m", "8a562857c4edf927"},
      {"smollm2-1.7b", "33e1dbc805144e38"},
      {"roberta-base", "a785d3445468436b"},
      {"roberta-large", "793578e24d4812d6"},
      {"xlm-roberta-base", "7f8000fb062485b3"},
      {"distilbert-base", "efb74424c041b1e6"},
      {"deberta-v3-base", "da91e39eb53332c1"},
      {"modernbert-base", "7dc46d5f9411a797"},
      {"modernbert-large", "490967db677cbf0e"},
      {"bart-base", "068a9a862c85fe49"},
      {"bart-large", "e30377a76149af38"},
      {"whisper-tiny", "e7118a19d161a1a2"},
      {"whisper-base", "f4123c91ebc31812"},
      {"whisper-small", "50ca23bab31c8a1a"},
      {"whisper-medium", "12b25aeb64036537"},
      {"whisper-large-v3", "6bde692241597575"},
      {"wav2vec2-base", "47f47ce572d678a0"},
      {"wav2vec2-large", "6cba97623d8ff377"},
      {"hubert-base", "62473b9adc868c35"},
      {"clip-vit-b-32", "8f795686653603ab"},
      {"clip-vit-b-16", "f69a94df6ea01619"},
      {"clip-vit-l-14", "8eda387c7d53ed31"},
      {"dinov2-base", "639cb05306f03ce4"},
      {"dinov2-large", "5283ec8e3fceded8"},
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
      {"llama", "6077b0e71b0d4909"},
      {"mistral", "445f48e6b3155a60"},
      {"mixtral", "3b584c8668b65e55"},
      {"qwen2", "27c4e6a682a59477"},
      {"qwen3", "d18a4d4e832d5553"},
      {"qwen2_moe", "0d231425463d165b"},
      {"qwen3_moe", "cc69bd2707e068a3"},
      {"gemma", "4cad5b8a8503c00b"},
      {"gemma2", "c6328472d7fa2d4b"},
      {"gemma3_text", "0112c0d5ef1144d9"},
      {"gemma4_text",
       "c.json: embeddings for each layer are not supported. Record the job instead"},
      {"phi", "40228b8ff152bb44"},
      {"phi3", "ec0aa0161480854a"},
      {"olmo", "1fe1f6d2e772ed81"},
      {"olmo2", "dc7a6d36435806f6"},
      {"olmoe", "19e236e1a048175c"},
      {"deepseek_v2", "cba3a2042c0ca726"},
      {"deepseek_v3", "92b654cd2297757e"},
      {"gpt_oss", "22291cffad73c699"},
      {"stablelm", "8d26fbf27e9b8e88"},
      {"granite", "9ca62f33c9c94bfe"},
      {"granitemoe", "5f4d0ccab932226e"},
      {"glm", "d1427491462b5124"},
      {"glm4", "fb94e0f19a18585b"},
      {"glm4_moe", "c.json: hidden_size 4096 is not a multiple of num_attention_heads 96"},
      {"cohere", "7427e795d9c88238"},
      {"cohere2", "81f0c90b6427d751"},
      {"starcoder2", "d3aafd264aed4826"},
      {"smollm3", "3ffe028aee9cfd1c"},
      {"nemotron",
       "c.json: num_key_value_heads is missing. Add it: its class has no default for it"},
      {"gpt2", "30fe903fad4df16b"},
      {"gpt_neox", "ebc9cc3bf048ef7e"},
      {"opt", "9f372123f0a1dd2a"},
      {"bloom", "c4f2ce95da8b1580"},
      {"mpt", "acdfc3b60a6be6be"},
      {"gptj", "7c63ad6dca6797d7"},
      {"falcon", "4361c76dd286c5cf"},
      {"bert", "9a9b155050b9f135"},
      {"roberta", "381674fb86ab8334"},
      {"xlm-roberta", "91442f80b756f956"},
      {"distilbert", "c05c46525743d77b"},
      {"albert", "a7a654e98b426a33"},
      {"electra", "4e002c6df2c46155"},
      {"deberta-v2", "50de5e2e042bddf2"},
      {"modernbert", "b50f3393e64dfb15"},
      {"t5", "fa8fa71d43305683"},
      {"mt5", "8c4e3a32a54a5587"},
      {"bart", "9135e9296b785b34"},
      {"mbart", "eedcae3de4e6b6a4"},
      {"pegasus", "5a97d516d14908e8"},
      {"marian", "70e74b550f140ff0"},
      {"whisper", "ed6113733603a165"},
      {"vit", "e17848924a29a465"},
      {"deit", "7d96b95d6dd203e8"},
      {"beit", "277ab01705ffd552"},
      {"dinov2", "6e931b24cd8a497d"},
      {"dinov2_with_registers", "e03f0f820e52d2b2"},
      {"swin", "7aac558caa9ca55f"},
      {"convnext", "213d611d637f50a3"},
      {"convnextv2", "e76ff97290550449"},
      {"wav2vec2", "14106a24289df438"},
      {"hubert", "d49253bb9dd9fba9"},
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
