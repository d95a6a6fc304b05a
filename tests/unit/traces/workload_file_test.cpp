#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

std::string workload_complaint(const std::string& text) {
  return complaint_of([&] { parse_workload(text, "w.json"); });
}

/// A document with two parameters and these further members.
std::string workload_with(const std::string& members) {
  return R"({"parameters":[{"name":"a","shape":[4],"dtype":"float32"},)"
         R"({"name":"b","shape":null,"dtype":"float16"}],)" +
         members + "}";
}

std::string with_parameter(const std::string& parameter) {
  return fmt::format(R"({{"parameters":[{}]}})", parameter);
}

std::string with_ready(const std::string& ready) {
  return workload_with(fmt::format(R"("backward":{{"duration_us":100,"ready":[{}]}})", ready));
}

constexpr const char* kEverything = R"({
  "schema": "ddpsim.workload/1",
  "name": "every \"field\"",
  "gpu": "V100",
  "precision": "fp32",
  "batch_per_gpu": 32,
  "samples_per_step": 32.5,
  "torch": "2.8",
  "parameter_order": "assumed",
  "parameters": [
    {"name": "a", "shape": [2, 0, 3], "dtype": "float32", "sparse_gradient": true},
    {"name": "b", "shape": [], "dtype": "bfloat16", "device": "cuda:1", "ignored": true, "batch_norm": true},
    {"name": "c", "shape": null, "dtype": "int64"}
  ],
  "forward": {"duration_us": 30500},
  "backward": {
    "duration_us": 63400.000001,
    "ready": [
      {"parameter": 2, "at_us": 76.1, "copied_at_us": 78.25},
      {"parameter": 0, "at_us": 76.1}
    ]
  },
  "optimizer": {"duration_us": 0.5},
  "iteration": {"duration_us": 95700},
  "host": {
    "ready_us": [
      -50019.000001,
      12.75
    ],
    "costs": {"hook_us": 7.25, "collective_us": 41, "search_us": 0}
  },
  "gpu_busy": {"forward_us": 30000, "backward_us": 20000, "optimizer_us": 0.25},
  "buffers": [
    {"dtype": "float32", "bytes": 212480, "tensors": 106}
  ],
  "activations": {"bytes": 4096, "from": "recording", "held_bytes": [5120, 4000, 100, 12]},
  "recorded_with": {
    "ddp_hooks": true,
    "world_size": 2,
    "nccl_kernels": 7,
    "exposed_us": 1690.794,
    "finalize_us": 690,
    "buffer_broadcast_us": 38.75,
    "sync_batchnorm": true,
    "collectives": [
      {"bytes": 8196000, "launch_us": -1.5, "start_us": 12, "duration_us": 3306.963}
    ]
  },
  "steps": [
    {"name": "ProfilerStep#9", "forward_us": 30400, "backward_us": 63000, "iteration_us": 95000},
    {
      "iteration_us": 95700,
      "collectives": [
        {"bytes": 8196000, "launch_us": 0, "start_us": 11, "duration_us": 3000, "channels": 8}
      ]
    },
    {}
  ],
  "provenance": {
    "source": "hand"
  }
}
)";

}  // namespace

TEST_CASE("workload file: a written file with every field reads back to the same text") {
  CHECK(format_workload(parse_workload(kEverything, "w.json")) == kEverything);
}

TEST_CASE("workload file: fields become values") {
  const Workload workload = parse_workload(kEverything, "w.json");
  CHECK(workload.backward->duration == Duration::picoseconds(63'400'000'001));
  CHECK(workload.host_ready[0] == Duration::picoseconds(-50'019'000'001));
  CHECK(workload.backward->ready[0].parameter == 2);
  CHECK(workload.backward->ready[0].copied_at == Duration::microseconds(78.25));
  CHECK_FALSE(workload.backward->ready[1].copied_at.has_value());
  CHECK(gradient_bytes(workload.parameters[0]) == Bytes(0));  // a dimension of 0 is valid
  CHECK(gradient_bytes(workload.parameters[1]) == Bytes(2));  // [] is a scalar
  CHECK(workload.parameter_order == ParameterOrder::assumed);
  CHECK(workload.recorded_with.collectives.at(0).bytes == Bytes(8'196'000));
}

TEST_CASE("workload file: the steps that a host may be ahead are kept") {
  const std::string text = workload_with(R"("host":{"launches":{"backward":[]},"steps_ahead":1})");
  const Workload read = parse_workload(text, "w.json");
  CHECK(read.launches->steps_ahead == 1);
  CHECK(parse_workload(format_workload(read), "w.json").launches == read.launches);
}

TEST_CASE("workload file: waits for data are kept") {
  const char* text = R"({"parameters": [{"name": "p", "shape": [1], "dtype": "float32"}],
    "data_loading": {"median_us": 2, "p90_us": 5, "mean_us": 3, "count": 7, "loads": "workers", "interval_us": 50}})";
  const Workload workload = parse_workload(text, "waits");
  CHECK(workload.data_loading == DataLoading{.median = Duration::microseconds(2),
                                             .p90 = Duration::microseconds(5),
                                             .mean = Duration::microseconds(3),
                                             .count = 7,
                                             .processes = true,
                                             .interval = Duration::microseconds(50)});
  CHECK(parse_workload(format_workload(workload), "again").data_loading == workload.data_loading);
}

TEST_CASE("workload file: waits for a core and earlier micro-batches are kept") {
  const std::string text = workload_with(
      R"("threads":{"cores":2,"running_us":60,"waiting_us":7,"all_running_us":80,"all_waiting_us":9},
         "earlier_micro_batches":{"count":3,"all_reduced":2,"compute_us":180,"exposed_us":30},
         "recorded_with":{"accumulate":4})");
  const Workload read = parse_workload(text, "w.json");
  CHECK(read.threads == HostThreads{.cores = 2,
                                    .running = Duration::microseconds(60),
                                    .waiting = Duration::microseconds(7),
                                    .all_running = Duration::microseconds(80),
                                    .all_waiting = Duration::microseconds(9)});
  CHECK(read.earlier == EarlierMicroBatches{.count = 3,
                                            .all_reduced = 2,
                                            .compute = Duration::microseconds(180),
                                            .exposed = Duration::microseconds(30)});
  CHECK(micro_batches(read) == 4);
  const Workload again = parse_workload(format_workload(read), "w.json");
  CHECK(again.threads == read.threads);
  CHECK(again.earlier == read.earlier);
  CHECK(
      workload_complaint(
          workload_with(
              R"("earlier_micro_batches":{"count":2,"compute_us":1},"recorded_with":{"accumulate":4})"))
          .find("2 micro-batches before the last of 4") != std::string::npos);
  CHECK(workload_complaint(workload_with(
            R"("earlier_micro_batches":{"count":2,"all_reduced":3,"compute_us":1})")) != "");
}

TEST_CASE("workload file: only parameters are needed") {
  const Workload workload =
      parse_workload(R"({"parameters":[{"name":"a","shape":[1],"dtype":"float32"}]})", "w.json");
  CHECK(workload.parameters.size() == 1);
  CHECK_FALSE(workload.backward.has_value());
  const std::string text = format_workload(workload);
  CHECK(format_workload(parse_workload(text, "w.json")) == text);
}

TEST_CASE("workload file: a parameter may hold all of 2^63 - 1 bytes, but not a byte more") {
  const std::string name = R"({"name":"a","dtype":"int8","shape":)";
  CHECK(workload_complaint(with_parameter(name + "[9223372036854775807]}")) == "");
  CHECK(workload_complaint(
            with_parameter(name +
                           R"([9223372036854775807]},{"name":"b","dtype":"int8","shape":[1]})"))
            .find("/parameters/1: the gradients up to here need more than 2^63 - 1 bytes") !=
        std::string::npos);
  CHECK(workload_complaint(with_parameter(name + "[4294967296,4294967296]}")) != "");
  CHECK(workload_complaint(with_parameter(name + "[4294967296,4294967296,0]}")) == "");
}

TEST_CASE("workload file: a parameter without a gradient may be missing from ready") {
  CHECK(workload_complaint(with_ready(R"({"parameter":1,"at_us":5})")) == "");
}

TEST_CASE("workload file: each wrong document gets its message") {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string ready0 = R"({"parameter":0,"at_us":5})";
  const std::vector<Case> cases = {
      {"", "w.json"},
      {"{\"parameters\":[", "w.json"},
      {"[1]", "is not an object"},
      {"{}", "missing \"parameters\""},
      {workload_with(R"("schema":"ddpsim.workload/2")"), "another version of the workload file"},
      {workload_with(R"("schema":"ddpsim.cluster/1")"), "is not a workload file"},
      {workload_with(R"("schema":1)"), "/schema"},
      {workload_with(R"("optimiser":{"duration_us":1})"), "Did you mean \"optimizer\"?"},
      {workload_with(R"("name":3)"), "/name"},
      {workload_with(R"("activations":{"bytes":1,"from":"memory"})"), "/activations/from"},
      {workload_with(R"("activations":{"bytes":1,"from":"layers","held_bytes":[1]})"),
       "w.json:/activations/held_bytes: 1 entries"},
      {workload_with(R"("activations":{"bytes":1,"from":"layers","held_bytes":[1,-2]})"),
       "/activations/held_bytes/1"},
      {workload_with(R"("activations":{"bytes":1,"from":"layers","held_bytes":2})"),
       "/activations/held_bytes"},
      {workload_with(R"("batch_per_gpu":0)"), "/batch_per_gpu"},
      {workload_with(R"("batch_per_gpu":"32")"), "/batch_per_gpu"},
      {workload_with(R"("samples_per_step":-1)"), "/samples_per_step"},
      {workload_with(R"("parameter_order":"random")"), "/parameter_order"},
      {workload_with(R"("forward":{"duration_us":-1})"), "/forward/duration_us"},
      {workload_with(R"("forward":{"duration_us":"30ms"})"), "/forward/duration_us"},
      {workload_with(R"("forward":{"duration_us":NaN})"), "w.json"},
      {workload_with(R"("forward":{"duration_us":1e400})"), "w.json"},
      {workload_with(R"("forward":{"duration_us":2e12})"), "at most 1e12 microseconds"},
      {workload_with(R"("forward":{})"), "missing \"duration_us\""},
      {workload_with(R"("forward":5)"), "/forward"},
      {workload_with(R"("name":"a","name":"b")"), "name"},
      {with_parameter(R"({"shape":[1],"dtype":"float32"})"), "missing \"name\""},
      {with_parameter(R"({"name":"a","dtype":"float32"})"), "missing \"shape\""},
      {with_parameter(R"({"name":"a","shape":[1]})"), "missing \"dtype\""},
      {with_parameter(R"({"name":"","shape":[1],"dtype":"float32"})"), "the name is empty"},
      {with_parameter(R"({"name":"a","shape":[-1],"dtype":"float32"})"), "/parameters/0/shape/0"},
      {with_parameter(R"({"name":"a","shape":[1.5],"dtype":"float32"})"), "not a whole number"},
      {with_parameter(R"({"name":"a","shape":"1x2","dtype":"float32"})"), "/parameters/0/shape"},
      {with_parameter(R"({"name":"a","shape":[9223372036854775808],"dtype":"int8"})"),
       "out of range"},
      {with_parameter(R"({"name":"a","shape":[1],"dtype":"float33"})"), "Did you mean"},
      {with_parameter(R"({"name":"a","shape":[1],"dtype":"float32","ignored":1})"), "/ignored"},
      {with_parameter(R"({"name":"a","shape":[1],"dtype":"float32","batch_norm":1})"),
       "/batch_norm"},
      {with_parameter(""), "there are no parameters"},
      {with_parameter(
           R"({"name":"a","shape":[1],"dtype":"int8"},{"name":"a","shape":[2],"dtype":"int8"})"),
       "is also the name of /parameters/0"},
      {with_ready(R"({"parameter":2,"at_us":5})"), "there is no parameter 2"},
      {with_ready(R"({"parameter":-1,"at_us":5})"), "/backward/ready/0/parameter"},
      {workload_with(R"("backward":{"duration_us":100,"ready":[)" + ready0 +
                     R"(]},"host":{"ready_us":[1],"launches":{"backward":[1]},)"
                     R"("launch_cost":{"forward_us":1,"backward_us":1,"optimizer_us":1},)"
                     R"("steps_ahead":1})"),
       "conflicts with ready_us"},
      {workload_with(
           R"("host":{"launch_waits":{"forward_us":0,"backward_us":0,"optimizer_us":1}})"),
       "waiting for launches for 1 us of a window of 0 us"},
      {workload_with(R"("buffers":[{"dtype":"float","bytes":4}])"), "is not a dtype"},
      {workload_with(
           R"("buffers":[{"dtype":"int8","bytes":9223372036854775807},{"dtype":"int8","bytes":1}])"),
       "more than 2^63 - 1 bytes"},
      {workload_with(R"("recorded_with":{"world_size":-1})"), "/recorded_with/world_size"},
      {workload_with(R"("recorded_with":{"nccl_kernels":true})"), "/recorded_with/nccl_kernels"},
      {workload_with(R"("recorded_with":{"collectives":[{"bytes":1}]})"), "missing \"launch_us\""},
      {workload_with(R"("provenance":{"source":1})"), "/provenance/source"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const std::string message = workload_complaint(one.text);
    CAPTURE(message);
    CHECK(message.find("w.json") == 0);
    CHECK(message.find(one.message) != std::string::npos);
  }
}

TEST_CASE("workload file: a wrong field is reported before a missing one") {
  CHECK(workload_complaint(R"({"forward":{"duration_us":-1}})").find("/forward/duration_us") !=
        std::string::npos);
  CHECK(workload_complaint(R"({"parameters":[{"dtype":"float32"}],"provenance":{"source":1}})")
            .find("/provenance/source") != std::string::npos);
}

TEST_CASE("bundled workloads: have the writer's format and are listed with a summary") {
  const auto list = bundled_workloads();
  REQUIRE(list.size() >= 2);
  for (const BundledWorkload& entry : list) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.summary.empty());
    const Workload workload = bundled_workload(entry.name).value();
    CHECK(workload.name == entry.name);
    const std::string text = format_workload(workload);
    CHECK(format_workload(parse_workload(text, "again")) == text);
  }
  CHECK_FALSE(bundled_workload("resnet50").has_value());
}

TEST_CASE("bundled workloads: the V100 recordings are as published") {
  const Workload ddp = bundled_workload("resnet50-v100-b32").value();
  CHECK(ddp.forward == Duration::milliseconds(30.5));
  CHECK(ddp.backward->duration == Duration::milliseconds(63.4));
  CHECK(ddp.optimizer == Duration::milliseconds(1.1));
  CHECK(ddp.iteration == Duration::milliseconds(95.7));
  CHECK(ddp.recorded_with.ddp_hooks);
  CHECK(stall(ddp) == Duration::microseconds(10));
  REQUIRE(ddp.backward->ready.size() == 161);
  CHECK(ddp.parameters[ddp.backward->ready[1].parameter].name == "fc.weight");
  CHECK(ddp.backward->ready[1].at == Duration::microseconds(78.6));

  const Workload plain = bundled_workload("resnet50-v100-b32-plain").value();
  CHECK(plain.forward == Duration::milliseconds(34.3));
  CHECK(plain.backward->duration == Duration::microseconds(66'122));
  CHECK(plain.optimizer == Duration::microseconds(1853));
  CHECK_FALSE(plain.iteration.has_value());
  CHECK_FALSE(plain.recorded_with.ddp_hooks);
}

TEST_CASE("workload file: busy times of the GPU and the variation of steps") {
  const Workload workload = parse_workload(kEverything, "w.json");
  CHECK(workload.busy->backward == Duration::microseconds(20000));
  REQUIRE(workload.steps.size() == 3);
  CHECK(workload.steps[0].name == "ProfilerStep#9");
  CHECK(workload.steps[0].backward == Duration::microseconds(63000));
  CHECK(workload.steps[1].collectives.at(0).channels == 8);
  CHECK_FALSE(workload.steps[2].iteration);
}

TEST_CASE("workload file: a GPU is not busy longer than the window, and a step takes time") {
  const std::string busy =
      R"("forward":{"duration_us":10},"gpu_busy":{"forward_us":11,"backward_us":0,"optimizer_us":0})";
  CHECK(workload_complaint(workload_with(busy)) ==
        "w.json:/gpu_busy/forward_us: busy for 11 us of a window of 10 us. Expected at most the "
        "duration of the window with that name");
  CHECK(
      mentions(workload_complaint(workload_with(R"("gpu_busy":{"forward_us":0})")), "backward_us"));
  CHECK(mentions(workload_complaint(workload_with(R"("steps":[{"iteration_us":0}])")),
                 "/steps/0/iteration_us: a step must take more than 0 us"));
  CHECK(mentions(workload_complaint(workload_with(R"("steps":[{"period_us":1}])")), "period_us"));
  const std::string other =
      R"("steps":[{"iteration_us":90},{"iteration_us":110}],"iteration":{"duration_us":)";
  CHECK(workload_complaint(workload_with(other + "89}")) ==
        "w.json:/steps: take 90 to 110 us, but the iteration takes 89 us. The iteration must be "
        "one of these steps");
  CHECK(mentions(workload_complaint(workload_with(other + "111}")),
                 "but the iteration takes 111 us"));
  CHECK(parse_workload(workload_with(other + "110}"), "w.json").steps.size() == 2);
}

TEST_CASE("workload file: sums of collectives stay within their limits") {
  const auto with = [](const std::string& bytes, const std::string& us) {
    const std::string one =
        fmt::format(R"({{"bytes":{},"launch_us":0,"start_us":0,"duration_us":{}}})", bytes, us);
    return workload_with(
        fmt::format(R"("recorded_with":{{"world_size":2,"collectives":[{},{}]}})", one, one));
  };
  CHECK(
      parse_workload(with("562949953421312", "5e11"), "w.json").recorded_with.collectives.size() ==
      2);
  CHECK(mentions(
      workload_complaint(with("562949953421313", "1")),
      "/recorded_with/collectives/1/bytes: the collectives up to here carry more than 2^50 bytes"));
  CHECK(mentions(workload_complaint(with("8", "5.1e11")),
                 "/recorded_with/collectives/1/duration_us: the collectives up to here take longer "
                 "than 11 days"));
}

TEST_CASE("workload file: a step has at most a hundred thousand collectives") {
  const auto with = [](std::size_t count) {
    std::string list = R"({"bytes":4,"launch_us":0,"start_us":0,"duration_us":1})";
    const std::string next = "," + list;
    for (std::size_t i = 1; i < count; ++i) list += next;
    return workload_with(
        fmt::format(R"("recorded_with":{{"world_size":2,"collectives":[{}]}})", list));
  };
  CHECK(parse_workload(with(100'000), "w.json").recorded_with.collectives.size() == 100'000);
  CHECK(workload_complaint(with(100'001)) ==
        "w.json:/recorded_with/collectives/100000: more than 100000 collectives in a step");
}
