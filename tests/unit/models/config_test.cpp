// Models given by dimensions, as text and as config.json: default values and errors.
#include "ddpsim/models/model_config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/models/estimate.hpp"

using namespace ddpsim;

namespace {

ModelDescription of_dimensions(const std::string& text) {
  return model_of_dimensions(text, text + "@A100").value();
}

std::string complaint_of_dimensions(const std::string& text) {
  return complaint_of([&] { of_dimensions(text); });
}

bool dimensions_refused(const std::string& text, const std::string& part) {
  return complaint_of_dimensions(text).find(part) != std::string::npos;
}

Model small_model(const ModelDescription& description) {
  return build_model(description, 4, std::nullopt);
}

std::vector<std::int64_t> shape_of(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.parameters, name, &Parameter::name);
  REQUIRE(found != model.parameters.end());
  return found->shape.value();
}

bool config_complains(const std::string& content, const std::string& part) {
  const std::string message = complaint_of([&] { model_of_config(content, "c.json"); });
  CAPTURE(message);
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("dimensions: missing values are Llama's defaults and are listed") {
  const ModelDescription description = of_dimensions("llama:layers=2,hidden=256");
  CHECK(description.assumed ==
        std::vector<std::string>{"heads=2", "kv_heads=2", "ffn=768", "vocab=32000", "tied=false"});
  CHECK(description.attention == AttentionKernel::sdpa);
  CHECK(description.usual_batch == 1);
  CHECK(description.usual_size == 2048);
  const Model model = small_model(description);
  CHECK(model.name == "llama:layers=2,hidden=256");
  CHECK(model.parameters.size() == 2 * 9 + 3);
  // Two thirds of 4 * 256 is 682, rounded up to a multiple of 256.
  CHECK(shape_of(model, "model.layers.1.mlp.up_proj.weight") ==
        std::vector<std::int64_t>{768, 256});
  CHECK(shape_of(model, "lm_head.weight") == std::vector<std::int64_t>{32000, 256});
  CHECK(model.blocks.size() == 2);
  CHECK(model.layers[model.blocks[0].first].name == "model.layers.0.input_layernorm");
  CHECK(model.layers[model.blocks[1].last - 1].name == "model.layers.1.mlp.add");
}

TEST_CASE("dimensions: with all of them given, nothing is assumed") {
  const ModelDescription description =
      of_dimensions("llama:tied=true,vocab=10,ffn=7,kv_heads=2,heads=4,hidden=12,layers=1");
  CHECK(description.assumed.empty());
  const Model model = small_model(description);
  CHECK(shape_of(model, "model.layers.0.self_attn.k_proj.weight") ==
        std::vector<std::int64_t>{6, 12});
  CHECK(shape_of(model, "model.layers.0.mlp.down_proj.weight") == std::vector<std::int64_t>{12, 7});
  // The output layer uses the embedding's weight.
  CHECK(model.parameters.size() == 9 + 2);
  CHECK(model.parameters[model.ready_order.back()].name == "model.embed_tokens.weight");
}

TEST_CASE("dimensions: other texts are not dimensions, and bad ones get a hint") {
  CHECK_FALSE(model_of_dimensions("gpt2", "gpt2@A100"));
  CHECK_FALSE(model_of_dimensions("llama2-7b", "llama2-7b@A100"));
  CHECK(dimensions_refused("llama", "size of the llama is missing"));
  CHECK(dimensions_refused("llama:", "is no dimension"));
  CHECK(dimensions_refused("llama:layers=2", "hidden is missing"));
  CHECK(dimensions_refused("llama:hidden=256", "layers is missing"));
  CHECK(dimensions_refused("llama:layers=2,hidden=256,", "is no dimension"));
  CHECK(dimensions_refused("llama:layers=2,hiden=256", "Did you mean \"hidden\""));
  CHECK(dimensions_refused("llama:layers=2,layers=2,hidden=256", "given twice"));
  for (const char* value : {"0", "-1", "1e3", "2.5", "nan", "", "1001", "99999999999999999999"})
    CHECK(dimensions_refused("llama:hidden=256,layers=" + std::string(value),
                             "is not a whole number from 1 to 1000"));
  CHECK(dimensions_refused("llama:layers=2,hidden=1048577", "from 1 to 1048576"));
  CHECK(dimensions_refused("llama:layers=2,hidden=100", "Say how many heads"));
  CHECK(dimensions_refused("llama:layers=2,hidden=100,heads=3", "not a multiple of heads=3"));
  CHECK(dimensions_refused("llama:layers=2,hidden=100,heads=4,kv_heads=3",
                           "not a multiple of kv_heads"));
  CHECK(dimensions_refused("llama:layers=2,hidden=256,tied=yes", "neither true nor false"));
}

TEST_CASE("config.json: missing fields have the defaults of the class and are listed") {
  const ModelDescription description =
      model_of_config(R"({"model_type":"gpt2","n_embd":8,"n_head":2})", "c.json");
  CHECK(description.name == "c.json");
  CHECK(std::ranges::count(description.assumed, "n_layer=12") == 1);
  CHECK(std::ranges::count(description.assumed, "n_embd=8") == 0);
  CHECK(description.most_tokens == 1024);  // learned positions
  const Model model = small_model(description);
  CHECK(model.parameters.size() == 148);
  CHECK(model.buffers.empty());  // none since transformers 5
  // These names are in the attribute_map of the class.
  const Model other = small_model(model_of_config(
      R"({"model_type":"gpt2","hidden_size":8,"num_attention_heads":2,"num_hidden_layers":1})",
      "c.json"));
  CHECK(other.parameters.size() == 4 + 12);
}

TEST_CASE("config.json: null key heads mean as many as heads if the class accepts null") {
  const auto config = [](const std::string& type, const std::string& field) {
    return R"({"model_type":")" + type +
           R"(","num_hidden_layers":1,"hidden_size":32,"num_attention_heads":16,"vocab_size":9)" +
           field + "}";
  };
  const auto keys = [&](const std::string& field) {
    return shape_of(small_model(model_of_config(config("smollm3", field), "c.json")),
                    "model.layers.0.self_attn.k_proj.weight")[0];
  };
  CHECK(keys("") == 4 * 2);
  CHECK(keys(R"(,"num_key_value_heads":null)") == 16 * 2);
  CHECK(keys(R"(,"num_key_value_heads":8)") == 8 * 2);
  CHECK(keys(R"(,"num_key_value_heads":4,"head_dim":5)") == 4 * 5);
  CHECK(config_complains(config("mistral", R"(,"num_key_value_heads":null)"),
                         "c.json:/num_key_value_heads: a value is expected, not null"));
}

TEST_CASE("config.json: null is refused if a value is expected") {
  for (const char* field : {"hidden_size", "num_hidden_layers", "vocab_size", "attention_bias",
                            "tie_word_embeddings", "max_position_embeddings"})
    CHECK(config_complains(std::string(R"({"model_type":"llama",")") + field + R"(":null})",
                           std::string("c.json:/") + field));
  CHECK(config_complains(R"({"model_type":"bart","hidden_size":null})",
                         "c.json:/hidden_size: a value is expected, not null. Write it, or take "
                         "the field out, which means 1024"));
  CHECK(config_complains(R"({"model_type":"deepseek_v2","n_shared_experts":null})",
                         "c.json:/n_shared_experts"));
  CHECK(config_complains(R"({"model_type":"deberta-v2","type_vocab_size":null})",
                         "c.json:/type_vocab_size"));
  CHECK(config_complains(R"({"model_type":"bert","hidden_dropout_prob":null})",
                         "c.json:/hidden_dropout_prob"));
  CHECK(config_complains(R"({"model_type":"bert","tie_word_embeddings":null})",
                         "c.json:/tie_word_embeddings"));
  CHECK(config_complains(R"({"model_type":"qwen2","head_dim":null})", "c.json:/head_dim"));
  for (const auto& [type, field] :
       std::vector<std::pair<std::string, std::string>>{{"convnext", "depths"},
                                                        {"convnext", "layer_scale_init_value"},
                                                        {"beit", "layer_scale_init_value"},
                                                        {"swin", "mlp_ratio"},
                                                        {"hubert", "conv_dim"},
                                                        {"wav2vec2", "add_adapter"},
                                                        {"opt", "_remove_final_layer_norm"},
                                                        {"deberta-v2", "position_buckets"},
                                                        {"mt5", "is_gated_act"},
                                                        {"gpt2", "add_cross_attention"}})
    CHECK(config_complains(R"({"model_type":")" + type + R"(",")" + field + R"(":null})",
                           "c.json:/" + field));
  CHECK(config_complains(R"({"model_type":"nemotron"})", "num_key_value_heads is missing"));
}

TEST_CASE("config.json: impossible values are reported with file and field") {
  CHECK(config_complains("{}", "model_type"));
  CHECK(config_complains(R"({"model_type":"zebra"})", "Known types: llama, mistral"));
  CHECK(config_complains(R"({"model_type":"llama","hidden_size":0})", "c.json:/hidden_size"));
  CHECK(config_complains(R"({"model_type":"llama","hidden_size":4097})", "not a multiple"));
  CHECK(config_complains(R"({"model_type":"llama","num_key_value_heads":5})", "not a multiple"));
  CHECK(config_complains(R"({"model_type":"llama","num_attention_heads":65536,"head_dim":1048576})",
                         "more than 1048576 features"));
  CHECK(config_complains(R"({"model_type":"bert","architectures":["BertForX"]})",
                         "c.json:/architectures/0"));
  CHECK(config_complains(R"({"model_type":"gptj","rotary_dim":512})", "wider than a head"));
  CHECK(
      config_complains(R"({"model_type":"t5","num_heads":65536,"d_kv":64})", "c.json:/num_heads"));
  CHECK(config_complains(R"({"model_type":"gpt_neox","rotary_pct":1.5})", "c.json:/rotary_pct"));
  CHECK(config_complains(R"({"model_type":"opt","dropout":"some"})", "c.json:/dropout"));
  CHECK(config_complains(R"({"model_type":"falcon","num_attention_heads":70})", "not a multiple"));
  CHECK(config_complains(R"({"model_type":"mpt","expansion_ratio":65})", "/expansion_ratio"));
  CHECK(config_complains(R"({"model_type":"bloom","n_layer":1001})", "/n_layer"));
  CHECK(config_complains(R"({"model_type":"qwen2","vocab_size":true})", "/vocab_size"));
}

TEST_CASE("estimate: attention is selected with the words of transformers") {
  CHECK(parse_estimate_spec("llama2-7b@A100").attention == std::nullopt);
  CHECK(parse_estimate_spec("llama2-7b@A100:attn=eager").attention == AttentionKernel::eager);
  CHECK(parse_estimate_spec("gpt2@A100:attn=sdpa").attention == AttentionKernel::sdpa);
  const auto says = [](const std::string& text, const std::string& part) {
    return complaint_of([&] { parse_estimate_spec(text); }).find(part) != std::string::npos;
  };
  CHECK(says("gpt2@A100:attn=flash", "neither attn=eager nor attn=sdpa"));
  CHECK(says("gpt2@A100:attn=", "neither attn=eager nor attn=sdpa"));
  CHECK(says("gpt2@A100:attn=sdpa:attn=sdpa", "says again"));
  CHECK(says("resnet18@A100:attn=sdpa", "resnet18 has no attention to choose"));
  // torchvision's Swin writes its attention out.
  CHECK(says("swin_t@A100:attn=sdpa", "swin_t has no attention to choose"));
  CHECK(parse_estimate_spec("unet-sd1.5@A100:attn=eager").attention == AttentionKernel::eager);
  CHECK(says("resnet18@A100:ckpt=full", "resnet18 has no blocks to checkpoint"));
  CHECK_FALSE(says("unet-sd1.5@A100:ckpt=full", "blocks"));
  CHECK(says("llama:layers=1@A100", "hidden is missing"));
  CHECK(model_part("a@b/config.json@A100:b1") == "a@b/config.json");
}
