#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ddpsim/models/model_flops.hpp"
#include "model_input.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;

namespace {

struct Shown {
  std::string name;
  std::string dims;
  double at = 2;
};

/// A step with these operators in forward and one gradient in backward.
Imported shown(const std::vector<Shown>& operators, double loading_until = 0) {
  TraceBuilder trace;
  trace.step(1, 0, 100);
  if (loading_until > 0)
    trace.span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
               TraceBuilder::kCaller, 0, loading_until);
  for (const Shown& one : operators)
    trace.span("cpu_op", one.name, TraceBuilder::kCaller, one.at, one.at + 1,
               fmt::format(R"("Input Dims":{})", one.dims));
  trace.kernel(10, 11, 30, TraceBuilder::kCaller);
  trace.node("AddmmBackward0", 40, 50).kernel(41, 42, 60);
  trace.gradient(51, 52, TraceBuilder::kAutograd, "[[3,4]]", "float");
  return trace.import();
}

std::optional<std::int64_t> batch_of(const std::vector<Shown>& operators,
                                     double loading_until = 0) {
  return shown(operators, loading_until).workload.batch_per_gpu;
}

}  // namespace

TEST_CASE("model input: the batch is the first size of the first layer's input") {
  CHECK(batch_of({{"aten::conv2d", "[[512,3,224,224],[64,3,7,7],[]]"}}) == 512);
  CHECK(batch_of({{"aten::conv1d", "[[16,1,16000],[32,1,10]]"}}) == 16);
  CHECK(batch_of({{"aten::linear", "[[128,784],[10,784]]"}}) == 128);
  CHECK(batch_of({{"aten::linear", "[[4,784],[10,784]]", 3}, {"aten::conv2d", "[[4,3,9,9]]", 2}}) ==
        4);
  CHECK_FALSE(batch_of({}).has_value());
  CHECK_FALSE(batch_of({{"aten::conv2d", "[]"}}).has_value());
  CHECK_FALSE(batch_of({{"aten::conv2d", "[[0,3,224,224]]"}}).has_value());
  CHECK_FALSE(batch_of({{"aten::add", "[[512,3,224,224]]"}}).has_value());
}

TEST_CASE("model input: attention distinguishes the batch of a lookup from its tokens") {
  const Shown lookup{"aten::embedding", "[[50257,768],[8,1024],[],[],[]]"};
  const auto attention = [](const char* dims) {
    return Shown{"aten::scaled_dot_product_attention", dims, 4};
  };
  const Workload first = shown({lookup, attention("[[8,12,1024,64]]")}).workload;
  CHECK(first.batch_per_gpu == 8);
  CHECK(first.sample.value().tokens == 1024);
  const Workload second =
      shown({lookup, attention("[[1024,12,8,64]]")}).workload;  // batch_first=False
  CHECK(second.batch_per_gpu == 1024);
  CHECK(second.sample.value().tokens == 8);
  CHECK_FALSE(batch_of({lookup}).has_value());
  CHECK_FALSE(batch_of({lookup, attention("[[96,12,1024,64]]")}).has_value());
}

TEST_CASE("model input: operators that augment samples in the DataLoader do not count") {
  const Shown blur{"aten::conv2d", "[[1,3,256,256],[3,1,9,9]]", 1};
  const Shown layer{"aten::conv2d", "[[32,3,224,224],[64,3,7,7]]", 8};
  CHECK(batch_of({blur, layer}, 5) == 32);
  CHECK(batch_of({blur, layer}) == 1);
}

TEST_CASE("model input: a loss whose rows are not a multiple of the batch contradicts it") {
  const Shown layer{"aten::linear", "[[30,16],[10,16]]"};
  const auto loss = [](const char* dims) { return Shown{"aten::cross_entropy_loss", dims, 5}; };
  CHECK(batch_of({layer, loss("[[30,10],[30]]")}) == 30);
  CHECK(batch_of({layer, loss("[[60,10],[60]]")}) == 30);
  CHECK_FALSE(batch_of({layer, loss("[[16,10],[16]]")}).has_value());
}

TEST_CASE("model input: only square images have a side") {
  const auto pixels = [](const char* dims) {
    const auto one = input_operator_of(InputOperatorKind::convolution, dims, 0);
    return model_input({one.value()}).value().pixels;
  };
  CHECK(pixels("[[8,3,160,160],[64,3,7,7]]") == 160);
  CHECK(pixels("[[8,3,160,240],[64,3,7,7]]") == 0);
  CHECK(pixels("[[8,3,160],[64,3,7]]") == 0);
  CHECK(pixels("[[8,3,4,160,160],[64,3,1,7,7]]") == 0);
}

TEST_CASE("model input: a model of the catalogue gets its FLOPs for the recorded size") {
  const Model model = find_model("alexnet").value();
  const auto recorded = [&](const char* input) {
    TraceBuilder trace;
    trace.step(1, 0, 400);
    trace.span("cpu_op", "aten::conv2d", TraceBuilder::kCaller, 2, 3,
               fmt::format(R"("Input Dims":{})", input));
    trace.kernel(10, 11, 30, TraceBuilder::kCaller);
    double at = 40;
    for (const std::size_t parameter : model.ready_order) {
      trace.node("AddmmBackward0", at, at + 5).kernel(at + 1, at + 2, at + 4);
      trace.gradient(at + 6, at + 7, TraceBuilder::kAutograd,
                     fmt::format("[[{}]]", fmt::join(*model.parameters[parameter].shape, ",")),
                     "float");
      at += 10;
    }
    return trace.import().workload.sample;
  };
  CHECK(recorded("[[2,3,224,224],[64,3,11,11]]").value().flops ==
        doctest::Approx(sample_work(model).flops));
  const Model larger = build_model(describe_model("alexnet").value(), 320, std::nullopt);
  CHECK(recorded("[[2,3,320,320],[64,3,11,11]]").value().flops ==
        doctest::Approx(sample_work(larger).flops));
  CHECK(sample_work(larger).flops > 1.1 * sample_work(model).flops);
  CHECK_FALSE(recorded("[[2,3,224,320],[64,3,11,11]]").has_value());
  CHECK_FALSE(recorded("[[2,3,16,16],[64,3,11,11]]").has_value());
}
