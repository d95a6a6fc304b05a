// A workload with a different value in every field is written and read again. The comparison is
// field by field, so that swapped columns are noticed.
#include <doctest/doctest.h>

#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Every time is different, counted from `first_us`.
Recorded recorded_from(double first_us, int world_size) {
  double next = first_us;
  const auto time = [&] { return Duration::microseconds(next++); };
  Recorded recorded;
  recorded.forward = time();
  recorded.optimizer = time();
  recorded.iteration = time();
  recorded.host_ready = {-time(), time()};
  recorded.host_held = {time(), time()};
  recorded.launches = Launches{.forward = 41,
                               .backward = {42, 43},
                               .optimizer = 44,
                               .cost = PartTimes{time(), time(), time()}};
  recorded.launch_waits = {.forward = 1_us, .backward = 2_us, .optimizer = 3_us};
  recorded.recorded_with = {
      .ddp_hooks = true,
      .world_size = world_size,
      .nccl_kernels = 21,
      .exposed = time(),
      .finalize = time(),
      .buffer_broadcast = time(),
      .collectives =
          {{.bytes = 23_B, .launch = -time(), .start = time(), .duration = time(), .channels = 24},
           {.bytes = 25_B, .launch = time(), .start = -time(), .duration = time(), .channels = 0}},
      .reduced_by = ReducedBy::script,
      .accumulate = 27,
      .compiled_gradients = 26,
      .wire = Dtype::bfloat16};
  recorded.backward.emplace();
  recorded.backward->ready = {{.parameter = 1, .at = time(), .copied_at = time()},
                              {.parameter = 0, .at = time(), .copied_at = {}}};
  recorded.backward->duration = time();
  return recorded;
}

Workload every_field() {
  Workload workload;
  static_cast<Recorded&>(workload) = recorded_from(100, 9);
  workload.name = "name";
  workload.gpu = "gpu";
  workload.precision = "precision";
  workload.batch_per_gpu = 31;
  workload.sample = SampleWork{.tokens = 128, .flops = 2.5e12, .convolution_flops = 1e9};
  workload.samples_per_step = 32.25;
  workload.torch = "2.8";
  workload.parameter_order = ParameterOrder::assumed;
  workload.parameters = {{.name = "first",
                          .shape = {{3, 5}},
                          .dtype = Dtype::float64,
                          .device = "cuda:1",
                          .sparse_gradient = true,
                          .ignored = false},
                         {.name = "second",
                          .shape = {},
                          .dtype = Dtype::complex128,
                          .device = "",
                          .sparse_gradient = false,
                          .ignored = true}};
  workload.buffers = {{.dtype = Dtype::int64, .bytes = 33_B, .tensors = 34},
                      {.dtype = Dtype::uint8, .bytes = 35_B, .tensors = 36}};
  RankRecording representative;
  static_cast<Recorded&>(representative) = workload;
  representative.rank = 2;
  RankRecording other;
  static_cast<Recorded&>(other) = recorded_from(200, 9);
  other.rank = 7;
  other.offset = -41_us;
  workload.ranks = {representative, other};
  workload.provenance = {{"source", "a"}, {"kind", "b"}};
  return workload;
}

}  // namespace

TEST_CASE("workload file: every field is read as it was written") {
  const Workload before = every_field();
  const Workload after = parse_workload(format_workload(before), "w.json");
  CHECK(after.name == "name");
  CHECK(after.gpu == "gpu");
  CHECK(after.precision == "precision");
  CHECK(after.batch_per_gpu == 31);
  CHECK(after.sample == before.sample);
  CHECK(after.samples_per_step == 32.25);
  CHECK(after.torch == "2.8");
  CHECK(after.parameter_order == ParameterOrder::assumed);
  REQUIRE(after.parameters.size() == 2);
  CHECK(after.parameters[0].name == "first");
  CHECK(after.parameters[0].shape == std::vector<std::int64_t>{3, 5});
  CHECK(after.parameters[0].dtype == Dtype::float64);
  CHECK(after.parameters[0].device == "cuda:1");
  CHECK(after.parameters[0].sparse_gradient);
  CHECK_FALSE(after.parameters[0].ignored);
  CHECK(after.parameters[1].name == "second");
  CHECK_FALSE(after.parameters[1].shape.has_value());
  CHECK(after.parameters[1].dtype == Dtype::complex128);
  CHECK(after.parameters[1].device.empty());
  CHECK_FALSE(after.parameters[1].sparse_gradient);
  CHECK(after.parameters[1].ignored);
  REQUIRE(after.buffers.size() == 2);
  CHECK(after.buffers[0].dtype == Dtype::int64);
  CHECK(after.buffers[0].bytes == 33_B);
  CHECK(after.buffers[0].tensors == 34);
  CHECK(after.buffers[1].dtype == Dtype::uint8);
  CHECK(after.provenance == before.provenance);
  CHECK(static_cast<const Recorded&>(after) == before);
  REQUIRE(after.ranks.size() == 2);
  for (const std::size_t k : {0U, 1U}) {
    CHECK(after.ranks[k].rank == before.ranks[k].rank);
    CHECK(after.ranks[k].offset == before.ranks[k].offset);
    CHECK(static_cast<const Recorded&>(after.ranks[k]) == before.ranks[k]);
  }
}

TEST_CASE("workload file: every phase has its name") {
  const Workload read = parse_workload(R"({
    "parameters": [{"name": "a", "shape": [1], "dtype": "int8"}],
    "forward": {"duration_us": 1}, "optimizer": {"duration_us": 2}, "iteration": {"duration_us": 3},
    "backward": {"duration_us": 9, "ready": [{"parameter": 0, "at_us": 4, "copied_at_us": 5}]},
    "host": {"ready_us": [6]},
    "recorded_with": {"exposed_us": 7, "finalize_us": 8, "buffer_broadcast_us": 10,
      "nccl_kernels": 11, "world_size": 12, "compiled_gradients": 13, "wire_dtype": "float16",
      "reduced_by": "hooks", "accumulate": 28,
      "collectives": [{"bytes": 14, "launch_us": 15, "start_us": 16, "duration_us": 17,
                       "channels": 18}]},
    "buffers": [{"dtype": "bool", "bytes": 19}]})",
                                       "w.json");
  CHECK(read.forward == 1_us);
  CHECK(read.optimizer == 2_us);
  CHECK(read.iteration == 3_us);
  CHECK(read.backward->ready[0].at == 4_us);
  CHECK(read.backward->ready[0].copied_at == 5_us);
  CHECK(read.backward->duration == 9_us);
  CHECK(read.host_ready == std::vector<Duration>{6_us});
  const RecordedWith& with = read.recorded_with;
  CHECK(with.exposed == 7_us);
  CHECK(with.finalize == 8_us);
  CHECK(with.buffer_broadcast == 10_us);
  CHECK(with.nccl_kernels == 11);
  CHECK(with.world_size == 12);
  CHECK(with.compiled_gradients == 13);
  CHECK(with.wire == Dtype::float16);
  CHECK(with.reduced_by == ReducedBy::hooks);
  CHECK(with.accumulate == 28);
  CHECK_FALSE(with.ddp_hooks);
  REQUIRE(with.collectives.size() == 1);
  CHECK(with.collectives[0].bytes == 14_B);
  CHECK(with.collectives[0].launch == 15_us);
  CHECK(with.collectives[0].start == 16_us);
  CHECK(with.collectives[0].duration == 17_us);
  CHECK(with.collectives[0].channels == 18);
  CHECK(read.buffers[0].dtype == Dtype::boolean);
  CHECK(read.buffers[0].bytes == 19_B);
  CHECK(read.buffers[0].tensors == 1);  // one by default
  CHECK(read.parameter_order == ParameterOrder::definition);
}

TEST_CASE("workload file: every dtype has its name") {
  for (const char* name : {"float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16",
                           "int32", "int64", "bool", "complex64", "complex128"}) {
    CAPTURE(name);
    const std::string text =
        R"({"parameters":[{"name":"a","shape":[1],"dtype":")" + std::string(name) + "\"}]}";
    CHECK(name_of(parse_workload(text, "w.json").parameters[0].dtype) == name);
  }
}

TEST_CASE("workload file: numbers at the ends of their ranges") {
  const auto read = [](const std::string& members) {
    try {
      parse_workload(R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"}],)" + members + "}",
                     "w.json");
    } catch (const InputError&) {
      return false;
    }
    return true;
  };
  const auto backward = [](const std::string& ready) {
    return R"("backward":{"duration_us":10,"ready":[{"parameter":0,)" + ready + "}]}";
  };
  CHECK(read(R"("batch_per_gpu":1)"));
  CHECK(read(R"("batch_per_gpu":1000000000)"));
  CHECK_FALSE(read(R"("batch_per_gpu":1000000001)"));
  CHECK(read(R"("samples_per_step":0)"));
  CHECK(read(R"("samples_per_step":1e15)"));
  CHECK_FALSE(read(R"("samples_per_step":1.1e15)"));
  CHECK(read(R"("sample":{"tokens":2147483647,"model_flops":1e24})"));
  CHECK_FALSE(read(R"("sample":{"tokens":0})"));
  CHECK_FALSE(read(R"("sample":{"model_flops":1.1e24})"));
  CHECK_FALSE(read(R"("sample":{"model_flops":1,"convolution_flops":2})"));
  CHECK(read(R"("forward":{"duration_us":1e12})"));
  CHECK_FALSE(read(R"("forward":{"duration_us":1000000000000.1})"));
  CHECK(read(R"("recorded_with":{"world_size":0})"));  // unknown
  CHECK(read(R"("recorded_with":{"world_size":1})"));
  CHECK(read(R"("recorded_with":{"world_size":1000000000})"));
  CHECK_FALSE(read(R"("recorded_with":{"world_size":1000000001})"));
  CHECK(read(R"("recorded_with":{"nccl_kernels":0,"compiled_gradients":0})"));
  CHECK_FALSE(read(R"("recorded_with":{"nccl_kernels":-1})"));
  CHECK_FALSE(read(R"("recorded_with":{"compiled_gradients":-1})"));
  CHECK_FALSE(read(R"("recorded_with":{"exposed_us":-1})"));
  CHECK_FALSE(read(R"("recorded_with":{"wire_dtype":"float32"})"));
  for (const std::string word : {"reducer", "compiled", "hooks", "script"})
    CHECK(read(R"("recorded_with":{"reduced_by":")" + word + R"("})"));
  CHECK_FALSE(read(R"("recorded_with":{"reduced_by":"horovod"})"));
  CHECK(read(R"("recorded_with":{"accumulate":100000})"));
  CHECK_FALSE(read(R"("recorded_with":{"accumulate":100001})"));
  CHECK_FALSE(read(R"("recorded_with":{"accumulate":0})"));
  const std::string collective =
      R"("recorded_with":{"collectives":[{"bytes":0,"launch_us":0,"start_us":0,"duration_us":0,)";
  CHECK(read(collective + R"("channels":1024}]})"));
  CHECK_FALSE(read(collective + R"("channels":1025}]})"));
  CHECK_FALSE(read(collective + R"("channels":-1}]})"));
  CHECK(read(R"("buffers":[{"dtype":"int8","bytes":0,"tensors":0}])"));
  CHECK_FALSE(read(R"("buffers":[{"dtype":"int8","bytes":-1}])"));
  CHECK_FALSE(read(R"("buffers":[{"dtype":"int8","bytes":0,"tensors":-1}])"));
  CHECK(read(backward(R"("at_us":10)")));
  CHECK_FALSE(read(backward(R"("at_us":10.001)")));
  CHECK(read(backward(R"("at_us":5,"copied_at_us":5)")));
  CHECK(read(backward(R"("at_us":5,"copied_at_us":10)")));
  CHECK_FALSE(read(backward(R"("at_us":5,"copied_at_us":4.999)")));
  CHECK_FALSE(read(backward(R"("at_us":5,"copied_at_us":10.001)")));
}

TEST_CASE(
    "workload file: gradients may be ready at the same time, but not before the previous one") {
  const auto read = [](const std::string& second) {
    parse_workload(R"({"parameters":[{"name":"a","shape":[1],"dtype":"int8"},
        {"name":"b","shape":[1],"dtype":"int8"}],
      "backward":{"duration_us":10,"ready":[{"parameter":1,"at_us":5},{"parameter":0,"at_us":)" +
                       second + "}]}}",
                   "w.json");
  };
  CHECK_NOTHROW(read("5"));
  CHECK_THROWS_AS(read("4.999"), InputError);
}

TEST_CASE("workload file: texts keep quotes, controls and characters beyond ASCII") {
  Workload workload;
  workload.parameters = {{.name = "p", .shape = {{1}}, .device = ""}};
  for (const std::string name : {"a\"b\\c", "a\nb\tc\x01", "µ→😀", "/"}) {
    workload.name = name;
    CHECK(parse_workload(format_workload(workload), "w.json").name == name);
  }
  // overlong forms, half pairs, too large values
  workload.name = "a\xC0\x80z\xED\xA0\x80\xF4\x90\x80\x80\xE0\x80\x80";
  const std::string read = parse_workload(format_workload(workload), "w.json").name;
  CHECK(read.find("a\xEF\xBF\xBD\xEF\xBF\xBDz") == 0);
  CHECK(read.find("\xED\xA0") == std::string::npos);
  for (const std::string edge : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                                 "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    workload.name = edge;
    CHECK(parse_workload(format_workload(workload), "w.json").name == edge);
  }
}

TEST_CASE("workload file: times are written to the picosecond without trailing zeros") {
  Workload workload;
  workload.parameters = {{.name = "p", .shape = {{1}}, .device = ""}};
  const auto written = [&](std::int64_t picoseconds) {
    workload.backward = Backward{};
    workload.host_ready = {Duration::picoseconds(picoseconds)};
    const std::string text = format_workload(workload);
    const std::size_t at = text.find_first_not_of(" \n", text.find("\"ready_us\": [") + 13);
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(written(0) == "0");
  CHECK(written(1) == "0.000001");
  CHECK(written(-1'500'000) == "-1.5");
  CHECK(written(12'000'000) == "12");
  CHECK(written(10'000'010) == "10.00001");
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854.775808");
}
