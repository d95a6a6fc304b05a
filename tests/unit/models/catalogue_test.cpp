#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"

using namespace ddpsim;

namespace {

std::int64_t total_bytes(const Model& model) {
  std::int64_t total = 0;
  for (const Parameter& parameter : model.parameters) total += gradient_bytes(parameter)->count();
  return total;
}

std::vector<std::int64_t> rebuilt_default_buckets(const char* name) {
  const Model model = find_model(name).value();
  const std::vector<Bytes> limits = {Bytes(1 << 20), Bytes(25 << 20)};
  std::vector<std::int64_t> bytes;
  for (const Bucket& bucket :
       assign_buckets(model.parameters, model.ready_order, limits, BucketOrder::as_emitted))
    bytes.push_back(bucket.bytes.count());
  return bytes;
}

void check_is_permutation(const Model& model) {
  std::vector<std::size_t> sorted = model.ready_order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> every(model.parameters.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  CHECK(sorted == every);
}

std::string ready_name(const Model& model, std::size_t k) {
  return model.parameters[model.ready_order[k]].name;
}

}  // namespace

TEST_CASE("catalogue: ResNet-18 has torchvision's parameters") {
  const Model model = find_model("resnet18").value();
  CHECK(model.parameters.size() == 62);
  CHECK(total_bytes(model) == 46'758'048);
  CHECK(model.parameters.front().name == "conv1.weight");
  CHECK(model.parameters.front().shape == std::vector<std::int64_t>{64, 3, 7, 7});
  CHECK(model.parameters.back().name == "fc.bias");
  check_is_permutation(model);
}

TEST_CASE("catalogue: ResNet-50 has torchvision's parameters and buffers") {
  const Model model = find_model("resnet50").value();
  CHECK(model.parameters.size() == 161);
  CHECK(total_bytes(model) == 102'228'128);
  check_is_permutation(model);
  REQUIRE(model.buffers.size() == 2);
  CHECK(model.buffers[0].dtype == Dtype::float32);
  CHECK(model.buffers[0].bytes == Bytes(53'120 * 4));  // as in the published 2xA100 trace
  CHECK(model.buffers[0].tensors == 106);
  CHECK(model.buffers[1].dtype == Dtype::int64);
  CHECK(model.buffers[1].bytes == Bytes(53 * 8));
  CHECK(model.buffers[1].tensors == 53);
}

TEST_CASE(
    "catalogue: batch norms are marked at their weights, also in a workload with the same shapes") {
  const auto marked = [](const std::vector<Parameter>& parameters) {
    return std::ranges::count_if(parameters, &Parameter::batch_norm);
  };
  CHECK(marked(find_model("resnet18").value().parameters) == 20);
  CHECK(marked(find_model("bert-base").value().parameters) == 0);
  Workload workload;
  workload.parameters = find_model("resnet50").value().parameters;
  for (Parameter& parameter : workload.parameters) parameter.batch_norm = false;
  CHECK(mark_batch_norms(workload));
  CHECK(marked(workload.parameters) == 53);
  CHECK(workload.parameters[1].batch_norm);  // bn1.weight
  CHECK_FALSE(workload.parameters[2].batch_norm);
  workload.parameters.back().batch_norm = true;  // existing marks are kept
  workload.parameters.pop_back();
  CHECK(mark_batch_norms(workload));
  for (Parameter& parameter : workload.parameters) parameter.batch_norm = false;
  CHECK_FALSE(mark_batch_norms(workload));  // nobody's shapes
  workload.parameters = find_model("vgg11").value().parameters;
  CHECK(mark_batch_norms(workload));  // known to have none
  CHECK(marked(workload.parameters) == 0);
}

TEST_CASE("catalogue: text models have the buffers that their libraries register") {
  // Tensors and bytes of each dtype, in the order of module.buffers(), as registered by the
  // libraries' code.
  struct Group {
    Dtype dtype;
    std::int64_t tensors;
    std::int64_t bytes;
    bool operator==(const Group&) const = default;
  };
  const auto buffers_of = [](const std::string& name) {
    std::vector<Group> groups;
    const Model model = find_model(name).value();
    for (const BufferGroup& group : model.buffers)
      groups.push_back({group.dtype, group.tensors, group.bytes.count()});
    return groups;
  };
  const auto is = [&](const std::string& name, const std::vector<Group>& expected) {
    CAPTURE(name);
    CHECK(buffers_of(name) == expected);
  };
  for (const char* name : {"bert-base", "bert-large"}) is(name, {{Dtype::int64, 2, 2 * 512 * 8}});
  is("gpt2", {{Dtype::boolean, 12, 12 << 20}, {Dtype::float32, 12, 12 * 4}});
  is("gpt2-xl", {{Dtype::boolean, 48, 48 << 20}, {Dtype::float32, 48, 48 * 4}});
  for (const char* name : {"transformer-base", "transformer-big"})
    is(name, {{Dtype::float32, 4, 4 * 4}});
  CHECK(source_of(find_model("gpt2").value()).starts_with("bundled model gpt2, buffers as in "));
  CHECK(source_of(find_model("bert-base").value()) == "bundled model bert-base");
}

TEST_CASE("catalogue: a Linear's bias is ready before its weight, BatchNorm's weight before bias") {
  const Model model = find_model("resnet50").value();
  CHECK(ready_name(model, 0) == "fc.bias");
  CHECK(ready_name(model, 1) == "fc.weight");
  CHECK(ready_name(model, 2) == "layer4.2.bn3.weight");
  CHECK(ready_name(model, 3) == "layer4.2.bn3.bias");
  CHECK(ready_name(model, 4) == "layer4.2.conv3.weight");
  CHECK(ready_name(model, 160) == "conv1.weight");
}

TEST_CASE("catalogue: the downsample branch runs last, so its gradients come first in the block") {
  const Model model = find_model("resnet18").value();
  const auto position = [&](const std::string& name) {
    for (std::size_t k = 0; k < model.ready_order.size(); ++k) {
      if (ready_name(model, k) == name) return k;
    }
    return model.ready_order.size();
  };
  CHECK(position("layer2.0.downsample.1.weight") < position("layer2.0.downsample.0.weight"));
  CHECK(position("layer2.0.downsample.0.weight") < position("layer2.0.bn2.weight"));
  CHECK(position("layer2.1.conv1.weight") < position("layer2.0.downsample.1.weight"));
}

TEST_CASE("catalogue: every model has its known number of parameters, each ready once") {
  struct Known {
    const char* name;
    std::size_t tensors;
    std::int64_t elements;
  };
  const Known known[] = {
      {"resnet18", 62, 11'689'512},
      {"resnet34", 110, 21'797'672},
      {"resnet50", 161, 25'557'032},
      {"resnet101", 314, 44'549'160},
      {"resnet152", 467, 60'192'808},
      {"resnext50_32x4d", 161, 25'028'904},
      {"resnext101_32x4d", 314, 44'177'704},
      {"resnext101_32x8d", 314, 88'791'336},
      {"vgg11", 22, 132'863'336},
      {"vgg13", 26, 133'047'848},
      {"vgg16", 32, 138'357'544},
      {"vgg19", 38, 143'667'240},
      {"alexnet", 16, 61'100'840},
      {"densenet121", 364, 7'978'856},
      {"inception_v3", 292, 27'161'264},
      {"vit_b_16", 152, 86'567'656},
      {"vit_b_32", 152, 88'224'232},
      {"vit_l_16", 296, 304'326'632},
      {"vit_l_32", 296, 306'535'400},
      {"vit_h_14", 392, 632'045'800},
      {"swin_t", 173, 28'288'354},
      {"swin_s", 329, 49'606'258},
      {"swin_b", 329, 87'768'224},
      {"convnext_tiny", 182, 28'589'128},
      {"convnext_small", 344, 50'223'688},
      {"convnext_base", 344, 88'591'464},
      {"convnext_large", 344, 197'767'336},
      {"efficientnet_b0", 213, 5'288'548},
      {"efficientnet_b1", 301, 7'794'184},
      {"efficientnet_b2", 301, 9'109'994},
      {"efficientnet_b3", 340, 12'233'232},
      {"efficientnet_b4", 418, 19'341'616},
      {"efficientnet_b5", 506, 30'389'784},
      {"efficientnet_b6", 584, 43'040'704},
      {"efficientnet_b7", 711, 66'347'960},
      {"efficientnet_v2_s", 452, 21'458'488},
      {"efficientnet_v2_m", 649, 54'139'356},
      {"efficientnet_v2_l", 897, 118'515'272},
      {"mobilenet_v2", 158, 3'504'872},
      {"mobilenet_v3_small", 142, 2'542'856},
      {"mobilenet_v3_large", 174, 5'483'032},
      {"unet-sd1.5", 686, 859'520'964},
      {"unet-sdxl", 1680, 2'567'463'684},
      {"bert-base", 199, 109'482'240},
      {"bert-large", 391, 335'141'888},
      {"gpt2", 148, 124'439'808},
      {"gpt2-medium", 292, 354'823'168},
      {"gpt2-large", 436, 774'030'080},
      {"gpt2-xl", 580, 1'557'611'200},
      {"transformer-base", 253, 60'915'712},
      {"transformer-big", 253, 209'911'808},
      {"llama2-7b", 291, 6'738'415'616},
      {"llama2-13b", 363, 13'015'864'320},
      {"llama2-34b", 435, 33'743'970'304},
      {"llama2-70b", 723, 68'976'648'192},
      {"llama3-8b", 291, 8'030'261'248},
      {"llama3-70b", 723, 70'553'706'496},
      {"llama3-405b", 1137, 405'853'388'800},
      {"llama3.2-1b", 146, 1'235'814'400},
      {"llama3.2-3b", 254, 3'212'749'824},
      {"tinyllama-1.1b", 201, 1'100'048'384},
      {"yi-6b", 291, 6'061'035'520},
      {"mistral-7b", 291, 7'241'732'096},
      {"qwen2.5-0.5b", 290, 494'032'768},
      {"qwen2.5-1.5b", 338, 1'543'714'304},
      {"qwen2.5-3b", 434, 3'085'938'688},
      {"qwen2.5-7b", 339, 7'615'616'512},
      {"qwen2.5-14b", 579, 14'770'033'664},
      {"qwen2.5-32b", 771, 32'763'876'352},
      {"qwen2.5-72b", 963, 72'706'203'648},
      {"mpt-125m", 74, 123'636'480},
      {"mpt-350m", 146, 353'616'896},
      {"mpt-760m", 146, 756'917'760},
      {"mpt-1b", 146, 1'311'213'568},
      {"mpt-3b", 194, 2'645'690'880},
      {"mpt-7b", 194, 6'649'024'512},
      {"mpt-13b", 242, 12'841'210'880},
      {"mpt-30b", 290, 29'956'742'144},
      {"mpt-70b", 482, 64'838'443'008},
      {"opt-125m", 196, 125'239'296},
      {"opt-350m", 388, 331'196'416},
      {"opt-1.3b", 388, 1'315'758'080},
      {"opt-2.7b", 516, 2'651'596'800},
      {"opt-6.7b", 516, 6'658'473'984},
      {"opt-13b", 644, 12'853'473'280},
      {"opt-30b", 772, 29'974'540'288},
      {"opt-66b", 1028, 65'719'701'504},
      {"bloom-560m", 293, 559'214'592},
      {"bloom-1b1", 293, 1'065'314'304},
      {"bloom-7b1", 365, 7'069'016'064},
      {"gpt-neox-20b", 532, 20'554'567'680},
      {"gpt-j-6b", 285, 6'050'882'784},
      {"falcon-7b", 195, 6'921'720'704},
      {"falcon-40b", 483, 41'303'293'952},
      {"t5-small", 131, 60'506'624},
      {"t5-base", 257, 222'903'552},
      {"t5-large", 509, 737'668'096},
      {"t5-3b", 509, 2'851'598'336},
      {"t5-11b", 509, 11'307'321'344},
      {"qwen3-0.6b", 310, 596'049'920},
      {"qwen3-1.7b", 310, 1'720'574'976},
      {"qwen3-4b", 398, 4'022'468'096},
      {"qwen3-8b", 399, 8'190'735'360},
      {"qwen3-14b", 443, 14'768'307'200},
      {"qwen3-32b", 707, 32'762'123'264},
      {"qwen3-30b-a3b", 531, 30'532'122'624},
      {"qwen3-235b-a22b", 1037, 235'093'634'560},
      {"gemma-2b", 164, 2'506'172'416},
      {"gemma-7b", 254, 8'537'680'896},
      {"gemma2-2b", 288, 2'614'341'888},
      {"gemma2-9b", 464, 9'241'705'984},
      {"gemma2-27b", 508, 27'227'128'320},
      {"gemma3-1b", 340, 999'885'952},
      {"mixtral-8x7b", 291, 46'702'792'704},
      {"mixtral-8x22b", 507, 140'630'071'296},
      {"deepseek-v2-lite", 351, 15'706'484'224},
      {"gpt-oss-20b", 411, 20'914'757'184},
      {"gpt-oss-120b", 615, 116'829'156'672},
      {"olmoe-1b-7b", 179, 6'919'161'856},
      {"phi-2", 453, 2'779'683'840},
      {"phi-3-mini", 195, 3'821'079'552},
      {"phi-4", 243, 14'659'507'200},
      {"olmo2-7b", 355, 7'298'617'344},
      {"smollm2-135m", 272, 134'515'008},
      {"smollm2-1.7b", 218, 1'711'376'384},
      {"roberta-base", 202, 124'697'433},
      {"roberta-large", 394, 355'412'057},
      {"xlm-roberta-base", 202, 278'295'186},
      {"distilbert-base", 105, 66'985'530},
      {"deberta-v3-base", 203, 184'551'780},
      {"modernbert-base", 137, 149'655'232},
      {"modernbert-large", 173, 395'881'664},
      {"bart-base", 259, 139'420'416},
      {"bart-large", 511, 406'291'456},
      {"whisper-tiny", 167, 37'760'640},
      {"whisper-base", 245, 72'593'920},
      {"whisper-small", 479, 241'734'912},
      {"whisper-medium", 947, 763'857'920},
      {"whisper-large-v3", 1259, 1'543'490'560},
      {"wav2vec2-base", 218, 95'044'608},
      {"wav2vec2-large", 410, 317'380'864},
      {"hubert-base", 211, 94'371'712},
      {"clip-vit-b-32", 398, 151'277'313},
      {"clip-vit-b-16", 398, 149'620'737},
      {"clip-vit-l-14", 590, 427'616'513},
      {"dinov2-base", 223, 86'580'480},
      {"dinov2-large", 439, 304'368'640},
  };
  CHECK(model_names().size() == std::size(known));
  for (const Known& row : known) {
    CAPTURE(row.name);
    const Model model = find_model(row.name).value();
    CHECK(model.parameters.size() == row.tensors);
    CHECK(total_bytes(model) == 4 * row.elements);
    check_is_permutation(model);
  }
}

TEST_CASE("catalogue: no two models have the same shapes, so shapes identify a model") {
  std::set<std::vector<std::vector<std::int64_t>>> seen;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    std::vector<std::vector<std::int64_t>> shapes;
    const Model model = find_model(name).value();
    for (const Parameter& parameter : model.parameters) shapes.push_back(parameter.shape.value());
    CHECK(seen.insert(std::move(shapes)).second);
  }
}

TEST_CASE("catalogue: a model can have another name") {
  CHECK(find_model("llama3.1-8b").value().name == "llama3-8b");
  CHECK(find_model("llama-7b", 7).value().sample_size == 7);
  CHECK(most_tokens("llama-13b") == most_tokens("llama2-13b"));
}

TEST_CASE("catalogue: case, '_' for '-' and a '-' before a digit do not count") {
  const auto named = [](const char* text) { return find_model(text).value().name; };
  CHECK(named("ResNet-50") == "resnet50");
  CHECK(named("vit-b-16") == "vit_b_16");
  CHECK(named("ViT_B_16") == "vit_b_16");
  CHECK(named("efficientnet-b0") == "efficientnet_b0");
  CHECK(named("GPT-2") == "gpt2");
  CHECK(named("Mixtral_8x7B") == "mixtral-8x7b");
  CHECK(named("Llama-3.1-8B") == "llama3-8b");
  CHECK(named("gemma-2-2b") == "gemma2-2b");
  CHECK(named("gemma-2b") == "gemma-2b");
  CHECK_FALSE(find_model("llama-27b"));
  CHECK_FALSE(find_model("qwen-38b"));
  CHECK_FALSE(find_model("opt13b-"));
  CHECK_FALSE(find_model("-resnet50"));
}

TEST_CASE("catalogue: a name on Hugging Face is the model that its dimensions are from") {
  const auto named = [](const char* text) { return find_model(text).value().name; };
  CHECK(named("Qwen/Qwen3-8B") == "qwen3-8b");
  CHECK(named("qwen/qwen3-8b") == "qwen3-8b");
  CHECK(named("mistralai/Mixtral-8x7B-v0.1") == "mixtral-8x7b");
  CHECK(named("meta-llama/Llama-2-7b-hf") == "llama2-7b");
  CHECK(named("EleutherAI/gpt-j-6b") == "gpt-j-6b");
  CHECK_FALSE(find_model("someone/resnet50"));
  CHECK_FALSE(find_model("google/vit-base-patch16-224"));  // another class than vit_b_16
  CHECK_FALSE(find_model("facebook/opt-*"));
  CHECK_FALSE(find_model("codellama/CodeLlama-34b-hf, which continues it"));
}

TEST_CASE("catalogue: an unknown name is told the nearest, or where other models come from") {
  const auto hint = [](const char* name) { return models_instead_of(name).text; };
  CHECK(hint("efficientnet_b8").find("efficientnet_b") != std::string::npos);
  CHECK(hint("Qwen/Qwen3-9B").find("qwen3-") != std::string::npos);
  CHECK(hint("Qwen/Qwen2.5-7B-Instruct") == "Did you mean \"qwen2.5-7b\"?");
  CHECK(hint("google-bert/bert-base-uncased") == "Did you mean \"bert-base\"?");
  CHECK(hint("meta-llama/Llama-3.1-8B-Instruct") == "Did you mean \"llama3-8b\"?");
  CHECK(hint("somebody/gpt2") == "Did you mean \"gpt2\"?");
  CHECK(hint("sdxl-base-1.0") == "Did you mean \"unet-sdxl\"?");
  CHECK(hint("swin") == "Known: swin_t, swin_s, swin_b");
  CHECK(hint("nothing like it").find("`ddpsim list`") != std::string::npos);
}

TEST_CASE("catalogue: a model with experts says what is not simulated") {
  const ModelDescription mixtral = describe_model("mixtral-8x7b").value();
  REQUIRE(mixtral.notes.size() == 1);
  CHECK(mixtral.notes.front().find("all-to-all are not simulated") != std::string::npos);
  CHECK(mixtral.assumed.empty());
  CHECK_FALSE(mixtral.config_file);
  CHECK(mixtral.source == "config.json of mistralai/Mixtral-8x7B-v0.1");
  CHECK(describe_model("qwen3-8b").value().notes.empty());
}

TEST_CASE("catalogue: a ViT of torchvision has one product for queries, keys and values") {
  const Model model = find_model("vit_b_16").value();
  CHECK(model.parameters[3].name == "encoder.pos_embedding");
  CHECK(model.parameters[6].name == "encoder.layers.encoder_layer_0.self_attention.in_proj_weight");
  CHECK(model.parameters[6].shape == std::vector<std::int64_t>{2304, 768});
  CHECK(ready_name(model, model.ready_order.size() - 1) == "conv_proj.bias");
}

TEST_CASE("catalogue: the UNet's encoder of time steps is defined second and ready last") {
  const Model model = find_model("unet-sd1.5").value();
  CHECK(model.parameters[2].name == "time_embedding.linear_1.weight");
  CHECK(ready_name(model, 0) == "conv_out.weight");
  CHECK(ready_name(model, model.ready_order.size() - 1) == "time_embedding.linear_1.weight");
  CHECK(model.blocks.size() == 16);
}

TEST_CASE("catalogue: a convolution's weight is ready before its bias, a Linear's after") {
  const Model model = find_model("alexnet").value();
  CHECK(ready_name(model, 4) == "classifier.1.bias");
  CHECK(ready_name(model, 5) == "classifier.1.weight");
  CHECK(ready_name(model, 6) == "features.10.weight");
  CHECK(ready_name(model, 7) == "features.10.bias");
}

TEST_CASE("catalogue: ResNeXt groups and widens the 3x3 convolution") {
  const auto shape_of = [](const Model& model, const std::string& name) {
    for (const Parameter& parameter : model.parameters) {
      if (parameter.name == name) return parameter.shape.value();
    }
    return std::vector<std::int64_t>{};
  };
  const Model small = find_model("resnext50_32x4d").value();
  CHECK(shape_of(small, "layer1.0.conv2.weight") == std::vector<std::int64_t>{128, 4, 3, 3});
  CHECK(shape_of(small, "layer4.0.conv3.weight") == std::vector<std::int64_t>{2048, 1024, 1, 1});
  const Model large = find_model("resnext101_32x8d").value();
  CHECK(shape_of(large, "layer4.2.conv2.weight") == std::vector<std::int64_t>{2048, 64, 3, 3});
}

TEST_CASE("catalogue: an embedding tied to the output layer is ready once, at the very end") {
  for (const char* name : {"gpt2", "gpt2-xl"}) {
    CAPTURE(name);
    const Model model = find_model(name).value();
    CHECK(ready_name(model, 0) == "transformer.ln_f.weight");
    CHECK(ready_name(model, model.ready_order.size() - 2) == "transformer.wpe.weight");
    CHECK(ready_name(model, model.ready_order.size() - 1) == "transformer.wte.weight");
  }
}

TEST_CASE(
    "catalogue: BERT looks up positions last, so their gradient is the first of the embeddings") {
  const Model model = find_model("bert-large").value();
  CHECK(ready_name(model, 0) == "pooler.dense.bias");
  CHECK(ready_name(model, 388) == "embeddings.position_embeddings.weight");
  CHECK(ready_name(model, 389) == "embeddings.token_type_embeddings.weight");
  CHECK(ready_name(model, 390) == "embeddings.word_embeddings.weight");
}

TEST_CASE("catalogue: DenseNet runs BatchNorm before each convolution") {
  const Model model = find_model("densenet121").value();
  CHECK(ready_name(model, 2) == "features.norm5.weight");
  CHECK(ready_name(model, 4) == "features.denseblock4.denselayer16.conv2.weight");
  CHECK(ready_name(model, 5) == "features.denseblock4.denselayer16.norm2.weight");
  CHECK(ready_name(model, 363) == "features.conv0.weight");
}

TEST_CASE("catalogue: Inception's auxiliary gradients come after those of the later blocks") {
  const Model model = find_model("inception_v3").value();
  const auto fc = std::find_if(
      model.ready_order.begin(), model.ready_order.end(),
      [&](std::size_t index) { return model.parameters[index].name == "AuxLogits.fc.bias"; });
  REQUIRE(fc != model.ready_order.end());
  CHECK(model.parameters[*(fc - 1)].name == "Mixed_7a.branch3x3_1.conv.weight");
  CHECK(model.parameters[*(fc + 8)].name == "Mixed_6e.branch_pool.bn.weight");
}

TEST_CASE("catalogue: the rebuilt buckets equal PyTorch's for these models") {
  CHECK(rebuilt_default_buckets("vgg16") == std::vector<std::int64_t>{16'388'000, 67'125'248,
                                                                      411'058'176, 28'315'648,
                                                                      28'320'768, 2'222'336});
  std::vector<std::int64_t> bert(14, 28'351'488);
  bert.front() = 2'362'368;
  bert.back() = 95'348'736;
  CHECK(rebuilt_default_buckets("bert-base") == bert);
  std::vector<std::int64_t> gpt2(13, 28'351'488);
  gpt2.front() = 9'446'400;
  gpt2.back() = 176'446'464;
  CHECK(rebuilt_default_buckets("gpt2") == gpt2);
}

TEST_CASE("catalogue: an unknown model is absent, and every listed one is found") {
  CHECK_FALSE(find_model("resnet51").has_value());
  CHECK_FALSE(find_model("").has_value());
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    CHECK(find_model(name).value().name == name);
  }
}

namespace {

/// The measured BERT and GPT-2 have the library's structure, with shorter module names.
std::string library_name(const std::string& model, std::string name) {
  const std::vector<std::pair<std::string, std::string>> bert = {
      {"word.", "embeddings.word_embeddings."},
      {"pos.", "embeddings.position_embeddings."},
      {"typ.", "embeddings.token_type_embeddings."},
      {"emb_ln.", "embeddings.LayerNorm."},
      {"layers.", "encoder.layer."},
      {".query.", ".attention.self.query."},
      {".key.", ".attention.self.key."},
      {".value.", ".attention.self.value."},
      {".attn_dense.", ".attention.output.dense."},
      {".attn_ln.", ".attention.output.LayerNorm."},
      {".inter.", ".intermediate.dense."},
      {".out.", ".output.dense."},
      {".out_ln.", ".output.LayerNorm."},
      {"pooler.", "pooler.dense."},
  };
  const std::vector<std::pair<std::string, std::string>> gpt2 = {
      {".c_proj.", ".attn.c_proj."},
      {".c_proj2.", ".mlp.c_proj."},
      {".c_attn.", ".attn.c_attn."},
      {".c_fc.", ".mlp.c_fc."},
  };
  for (const auto& [measured, library] : model == "bert_base" ? bert : gpt2) {
    const bool whole_module = measured.front() == '.';
    const std::size_t at = name.find(measured);
    if (at == std::string::npos || (at > 0 && !whole_module)) continue;
    name.replace(at, measured.size(), library);
    if (whole_module) break;
  }
  return model == "gpt2" ? "transformer." + name : name;
}

}  // namespace

TEST_CASE("catalogue: names, shapes and ready order equal the measured ones") {
  const std::filesystem::path path = files::shared_file("reference/bucket-assignment-cases.json");
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the measured parameter lists are not beside this checkout");
    return;
  }
  std::ifstream in(path);
  const nlohmann::json lists = nlohmann::json::parse(in).at("param_lists");
  for (const std::string measured : {"resnet18", "resnet50", "vgg16", "bert_base", "gpt2"}) {
    CAPTURE(measured);
    const Model model = find_model(measured == "bert_base" ? "bert-base" : measured).value();
    const nlohmann::json& truth = lists.at(measured);
    CHECK(model.ready_order == truth.at("gradient_ready_order").get<std::vector<std::size_t>>());
    REQUIRE(model.parameters.size() == truth.at("names").size());
    const bool renamed = measured == "bert_base" || measured == "gpt2";
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      const Parameter& parameter = model.parameters[i];
      const std::string name = truth.at("names").at(i);
      CHECK(parameter.name == (renamed ? library_name(measured, name) : name));
      CHECK(parameter.shape.value() == truth.at("shapes").at(i).get<std::vector<std::int64_t>>());
      CHECK(gradient_bytes(parameter)->count() == 4 * truth.at("numel").at(i).get<std::int64_t>());
    }
  }
}
