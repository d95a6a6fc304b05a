#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

namespace {

Workload estimate(const std::string& text) {
  const EstimateSpec spec = parse_estimate_spec(text);
  return estimate_workload(spec, find_gpu(spec.gpu).value());
}

std::string refusal(const std::string& text) {
  try {
    estimate(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return refusal(text).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("estimate: a specification in full") {
  const EstimateSpec spec = parse_estimate_spec("bert-large@A100:b8:s512:amp");
  CHECK(spec.model == "bert-large");
  CHECK(spec.gpu == "A100");
  CHECK(spec.batch == 8);
  CHECK(spec.tokens == 512);
  CHECK(spec.precision == Precision::amp);
}

TEST_CASE("estimate: parts come in any order, and what is left out is the model's default") {
  const EstimateSpec spec = parse_estimate_spec("gpt2@h100:bf16:b4");
  CHECK(spec.precision == Precision::bf16);
  CHECK(spec.batch == 4);
  CHECK_FALSE(spec.tokens.has_value());
  CHECK(estimate("gpt2@h100:bf16:b4").name == "estimate gpt2@H100:b4:s1024:bf16");
  CHECK(estimate("resnet50@V100").name == "estimate resnet50@V100:b32:fp32");
}

TEST_CASE("estimate: bad specifications say what would be right") {
  CHECK(says("resnet51@V100", "Did you mean \"resnet50\""));
  CHECK(says("@V100", "there is no model"));
  CHECK(says("resnet50@", "names no GPU"));
  CHECK(says("resnet50", "MODEL@GPU"));
  CHECK(says("resnet50@V100:b0", "is not a batch size"));
  CHECK(says("resnet50@V100:b-3", "is not a batch size"));
  CHECK(says("resnet50@V100:b", "is not understood"));
  CHECK(says("resnet50@V100:b3.5", "is not a batch size"));
  CHECK(says("resnet50@V100:b1e3", "is not a batch size"));
  CHECK(says("resnet50@V100:b1000001", "beyond the largest batch size"));
  CHECK(says("resnet50@V100:b99999999999999999999", "beyond the largest batch size"));
  CHECK(says("resnet50@V100:s128", "takes images"));
  CHECK(says("bert-base@V100:s513", "beyond the largest sequence length, 512"));
  CHECK(says("bert-base@V100:s-1", "is not a sequence length"));
  CHECK(says("bert-base@V100:b8:b8", "says again"));
  CHECK(says("bert-base@V100:amp:fp32", "says again"));
  CHECK(says("bert-base@V100:fp16", "is not understood"));
  CHECK(says("bert-base@V100::b8", "is not understood"));
  CHECK(says("bert-base@V100:b8:", "ends in a colon"));
  CHECK(says("bert-base@V100:bf16", "has no bfloat16 units"));
  CHECK(says("bert-base@T4:bf16", "Use amp"));
}

TEST_CASE("estimate: every model on every named GPU gives a workload that can be simulated") {
  for (const std::string& model : model_names()) {
    for (const char* gpu : {"V100", "A100", "H100", "H200", "B200", "RTX4090", "L40S", "T4"}) {
      for (const char* precision : {"fp32", "amp"}) {
        const Workload workload = estimate(model + "@" + gpu + ":" + precision);
        CAPTURE(workload.name);
        CHECK(is_estimate(workload));
        CHECK(workload.backward->ready.size() == workload.parameters.size());
        CHECK(*workload.forward > Duration());
        CHECK(*workload.forward < workload.backward->duration);
        CHECK(std::is_sorted(workload.backward->ready.begin(), workload.backward->ready.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
        CHECK(workload.backward->ready.front().at > Duration());
        CHECK(workload.backward->ready.back().at <= workload.backward->duration);
      }
    }
  }
}

TEST_CASE("estimate: twice the batch takes at most twice as long, and longer") {
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const double ratio = estimate(model + "@A100:b16:amp").backward->duration /
                         estimate(model + "@A100:b8:amp").backward->duration;
    CHECK(ratio > 1);
    CHECK(ratio <= 2);
  }
}

TEST_CASE("estimate: a faster GPU, or half precision, is not slower") {
  for (const std::string& model : model_names()) {
    CAPTURE(model);
    const auto backward = [&](const char* setting) {
      return estimate(model + "@" + setting).backward->duration;
    };
    CHECK(backward("A100:amp") < backward("V100:amp"));
    CHECK(backward("H100:amp") < backward("A100:amp"));
    CHECK(backward("H200:amp") <= backward("H100:amp"));
    CHECK(backward("B200:amp") < backward("H200:amp"));
    CHECK(backward("V100:amp") < backward("V100:fp32"));
    CHECK(backward("A100:tf32") <= backward("A100:fp32"));
    CHECK(backward("A100:bf16") == backward("A100:amp"));
  }
}

TEST_CASE("estimate: the largest batch does not overflow") {
  const Workload workload = estimate("resnet152@T4:b1000000");
  CHECK(workload.backward->duration < Duration::max());
  CHECK(workload.backward->duration > Duration::seconds(1000));
}

TEST_CASE("estimate: says when the batch does not fit, or the host would not keep up") {
  const auto warnings = [](const std::string& text) {
    const EstimateSpec spec = parse_estimate_spec(text);
    return estimate_warnings(spec, find_gpu(spec.gpu).value());
  };
  CHECK(warnings("resnet50@V100:b32").empty());
  REQUIRE(warnings("resnet50@V100:b2000").size() == 1);
  CHECK(warnings("resnet50@V100:b2000").front().find("GiB") != std::string::npos);
  REQUIRE(warnings("resnet50@H100:b4:amp").size() == 1);
  CHECK(warnings("resnet50@H100:b4:amp").front().find("host") != std::string::npos);
}
