// The other sources of a workload: DDP's log, layer tables, timelines. Checks every field, and the
// recognition by the first bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/ddp_log.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/layer_table.hpp"
#include "ddpsim/traces/timeline_file.hpp"
#include "ready_shares.hpp"
#include "recognise.hpp"
#include "trace_builder.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

using OrderedJson = nlohmann::ordered_json;

/// Three parameters of an unknown model, ready in the order 2 0 1 in two buckets.
OrderedJson log() {
  return {{"module_name", "Net"},
          {"backend_name", "nccl"},
          {"world_size", 4},
          {"rank", 1},
          {"iteration", 7},
          {"num_parameter_tensors", 3},
          {"total_parameter_size_bytes", 96},
          {"bucket_cap_bytes", 3 << 20},
          {"bucket_sizes", "96"},
          {"rebuilt_bucket_sizes", "64, 32"},
          {"rebuilt_per_bucket_param_indices", "2  0, 1"},
          {"forward_compute_time", 4'000'000},
          {"backward_compute_time", 9'000'000},
          {"backward_comm_time", 5'000'000},
          {"backward_compute_comm_overlap_time", 3'000'000},
          {"avg_forward_compute_time", 6'000'000},
          {"avg_backward_compute_time", 7'000'000}};
}

Imported imported_source(const OrderedJson& json, const ImportOptions& options = {}) {
  return parse_ddp_log(json.dump(), "folder/log.json", options);
}

Imported source_with(const std::string& key, const OrderedJson& value) {
  OrderedJson json = log();
  json[key] = value;
  return imported_source(json);
}

Recognition::Kind kind_of(const std::string& head) {
  return recognise(head, true).kind;
}

}  // namespace

TEST_CASE("DDP log: each time and each count has its own field") {
  const Imported result = imported_source(log());
  const Workload& workload = result.workload;
  CHECK(workload.name == "log");
  CHECK(workload.forward == 4_ms);
  CHECK(workload.backward->duration == 9_ms);
  // 5 ms of communication, of which 3 overlap compute
  CHECK(workload.recorded_with.exposed == 2_ms);
  CHECK(workload.recorded_with.world_size == 4);
  CHECK(workload.recorded_with.nccl_kernels == 2);
  CHECK_FALSE(workload.optimizer.has_value());
  CHECK(
      mentions(result.recognised,
               "DDP logging data of Net, rank 1 of 4, after 7 iterations: 3 parameters, 96 bytes, "
               "over nccl"));
  CHECK(mentions(
      result.recognised,
      "forward 4.000 ms, backward compute 9.000 ms, then 2.000 ms of communication and copies out. "
      "The means of all sampled iterations, including the slow first one, are 6.000 and 7.000 ms"));
  const auto& ready = workload.backward->ready;
  REQUIRE(ready.size() == 3);
  CHECK(ready[0].parameter == 2);
  CHECK(ready[0].at == 3_ms);
  CHECK(ready[1].parameter == 0);
  CHECK(ready[1].at == 6_ms);
  CHECK(ready[2].parameter == 1);
  CHECK(ready[2].at == 9_ms);
  REQUIRE(result.ddp_log);
  CHECK(result.ddp_log->construction_bytes == std::vector<Bytes>{96_B});
  CHECK(result.ddp_log->rebuilt_bytes == std::vector<Bytes>{64_B, 32_B});
  CHECK(result.bucket_bytes == result.ddp_log->rebuilt_bytes);
  CHECK(result.ddp_log->options.bucket_cap_mb == 3);
  CHECK(source_with("backward_comm_time", 2'000'000).workload.recorded_with.exposed == Duration());
  CHECK_FALSE(source_with("backward_comm_time", 0).workload.recorded_with.exposed.has_value());
  CHECK(imported_source(log(), {.gpu = "A100"}).workload.gpu == "A100");
}

TEST_CASE("DDP log: only NCCL has kernels, one for each bucket") {
  CHECK(source_with("backend_name", "gloo").workload.recorded_with.nccl_kernels == 0);
  OrderedJson built = log();
  built.erase("rebuilt_bucket_sizes");
  built.erase("rebuilt_per_bucket_param_indices");
  CHECK(imported_source(built).workload.recorded_with.nccl_kernels == 1);
}

TEST_CASE("DDP log: each flag and hook is its own option") {
  const auto options = [](const std::string& key, const OrderedJson& value) {
    return source_with(key, value).ddp_log->options;
  };
  const DdpOptions none = imported_source(log()).ddp_log->options;
  CHECK_FALSE(none.find_unused_parameters);
  CHECK_FALSE(none.static_graph);
  CHECK_FALSE(none.gradient_as_bucket_view);
  CHECK(none.broadcast_buffers);
  CHECK(none.comm_hook == CommHook::none);
  CHECK(options("find_unused_parameters", 1).find_unused_parameters);
  CHECK_FALSE(options("find_unused_parameters", 1).static_graph);
  CHECK(options("static_graph", 1).static_graph);
  CHECK(options("gradient_as_bucket_view", 1).gradient_as_bucket_view);
  CHECK_FALSE(options("broadcast_buffers", 0).broadcast_buffers);
  CHECK(options("comm_hook", "fp16_compress_hook").comm_hook == CommHook::fp16_compress);
  CHECK(options("comm_hook", "bf16_compress_hook").comm_hook == CommHook::bf16_compress);
  CHECK(options("comm_hook", "N/A").comm_hook == CommHook::none);
  CHECK_FALSE(options("bucket_cap_bytes", 25 << 20).bucket_cap_mb.has_value());
  CHECK(options("bucket_cap_bytes", (25 << 20) + 1).bucket_cap_mb.has_value());
}

TEST_CASE("DDP log: a single dtype applies to the parameters, several or unknown ones do not") {
  const auto dtype = [](const char* dtypes) {
    return source_with("dtypes", dtypes).workload.parameters.at(0).dtype;
  };
  CHECK(dtype("float") == Dtype::float32);
  CHECK(dtype("double") == Dtype::float64);
  CHECK(dtype("c10::Half") == Dtype::float16);
  CHECK(dtype("c10::BFloat16") == Dtype::bfloat16);
  CHECK(dtype("float, odd") == Dtype::float32);
  CHECK(dtype("c10::Half, odd") == Dtype::float32);  // one of them is unknown
}

TEST_CASE("ready shares: come from the bundled recording of the same shapes and never fall") {
  const std::vector<Parameter> parameters =
      bundled_workload("resnet50-v100-b32").value().parameters;
  std::vector<std::size_t> order;
  const Workload any = bundled_workload("resnet50-v100-b32").value();
  for (const ReadyEvent& event : any.backward->ready) order.push_back(event.parameter);
  const ReadyShares shares = ready_shares(parameters, order);
  const Workload source = bundled_workload(shares.source).value();
  std::vector<double> own(parameters.size());
  for (const ReadyEvent& event : source.backward->ready)
    own[event.parameter] = event.at / source.backward->duration;
  for (std::size_t k = 0; k < order.size(); ++k) CHECK(shares.share[k] == own[order[k]]);
  std::reverse(order.begin(), order.end());
  const ReadyShares reversed = ready_shares(parameters, order);
  CHECK(reversed.share.front() == own[order.front()]);  // the last gradient, now first
  CHECK(reversed.share.back() == reversed.share.front());
  std::vector<Parameter> other = parameters;
  other[0].shape = {{1}};
  const ReadyShares even = ready_shares(other, {0, 1, 2, 3});
  CHECK(even.source.empty());
  CHECK(even.share == std::vector<double>{0.25, 0.5, 0.75, 1});
}

TEST_CASE("layer table: every column is used, and layers without parameters only add time") {
  const Imported result = parse_layer_table(
      "layer,parameters,forward_us,backward_us\na,11,1,10\nb,0,2,20\nc,13,4,40\nd,0,8,80\n",
      "folder/net.csv");
  const Workload& workload = result.workload;
  CHECK(workload.name == "net");
  CHECK(workload.forward == 15_us);
  CHECK(workload.backward->duration == 150_us);
  REQUIRE(workload.parameters.size() == 2);
  CHECK(workload.parameters[0].name == "a");
  CHECK(workload.parameters[0].shape == std::vector<std::int64_t>{11});
  CHECK(workload.parameters[0].dtype == Dtype::float32);
  CHECK(workload.parameters[1].name == "c");
  CHECK(workload.parameters[1].shape == std::vector<std::int64_t>{13});
  const auto& ready = workload.backward->ready;
  REQUIRE(ready.size() == 2);
  CHECK(ready[0].parameter == 1);
  CHECK(ready[0].at == 120_us);
  CHECK(ready[1].parameter == 0);
  CHECK(ready[1].at == 150_us);
  CHECK(mentions(result.recognised, "a layer table: 4 layers, 2 of them with parameters"));
}

TEST_CASE("layer table: numbers at the ends of their ranges") {
  const auto accepted = [](const std::string& rows) {
    try {
      parse_layer_table("layer,parameters,forward_us,backward_us\n" + rows, "t.csv");
    } catch (const InputError&) {
      return false;
    }
    return true;
  };
  CHECK(accepted("a,1,0,0\n"));
  CHECK(accepted("a,1,1e12,1e12\n"));
  CHECK_FALSE(accepted("a,1,1.1e12,1\n"));
  CHECK_FALSE(accepted("a,1,1e12,1\nb,1,0.001,1\n"));
  CHECK_FALSE(accepted("a,1,1,1e12\nb,1,1,0.001\n"));
  CHECK(accepted("a,2305843009213693951,1,1\n"));  // of four bytes each: 2^63 - 4
  CHECK_FALSE(accepted("a,2305843009213693952,1,1\n"));
  CHECK_FALSE(accepted("a,2305843009213693951,1,1\nb,1,1,1\n"));
  CHECK_FALSE(accepted("a,1,1,1,1\n"));
}

TEST_CASE("timeline file: each field has its name, and spans are sorted by start") {
  const Timeline timeline = parse_timeline(R"({"schema":"ddpsim.timeline/1","clock":"what zero is",
    "provenance":{"program":"p","host":"h"},
    "ranks":[{"rank":6,"spans":[
      {"track":"compute","name":"late","start_us":5,"end_us":5},
      {"track":"communication","name":"early","bucket":4,"start_us":-2.5,"end_us":9},
      {"track":"host","name":"also late","start_us":5,"end_us":7}]},
     {"rank":2,"spans":[]}]})",
                                           "t.json");
  CHECK(timeline.clock == "what zero is");
  CHECK(timeline.provenance ==
        std::vector<std::pair<std::string, std::string>>{{"program", "p"}, {"host", "h"}});
  REQUIRE(timeline.ranks.size() == 2);
  CHECK(timeline.ranks[0].rank == 6);
  CHECK(timeline.ranks[1].rank == 2);
  const auto& spans = timeline.ranks[0].spans;
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].name == "early");
  CHECK(spans[0].track == Track::communication);
  CHECK(spans[0].bucket == 4);
  CHECK(spans[0].start == TimePoint(-2.5_us));
  CHECK(spans[0].end == TimePoint(9_us));
  CHECK(spans[1].name == "late");  // equal starts stay in order
  CHECK(spans[1].track == Track::compute);
  CHECK_FALSE(spans[1].bucket.has_value());
  CHECK(spans[2].track == Track::host);
}

TEST_CASE("recognise: only the outermost keys count") {
  using Kind = Recognition::Kind;
  CHECK(kind_of(R"({"a":{"traceEvents":1},"b":[{"parameters":2}]})") == Kind::other);
  CHECK(kind_of(R"({"a":"\"traceEvents\":","traceEvents":[)") == Kind::profiler_trace);
  CHECK(kind_of(R"({"a":"}","parameters":[)") == Kind::workload);
  CHECK(kind_of(R"({"schema":"ddpsim.workload/7"})") == Kind::workload);
  CHECK(kind_of(R"({"schema":"ddpsim.workloads/7"})") == Kind::other);
  CHECK(kind_of(R"({"schema":3})") == Kind::workload);  // its reader reports the error
  for (const char* beside : {"schemaVersion", "deviceProperties", "distributedInfo", "traceName",
                             "displayTimeUnit", "with_stack"})
    CHECK(kind_of(std::string("{\"") + beside + "\":1}") == Kind::profiler_trace);
  for (const char* of_log : {"bucket_cap_bytes", "rebuilt_bucket_sizes", "num_parameter_tensors"})
    CHECK(kind_of(std::string("{\"") + of_log + "\":1}") == Kind::ddp_log);
  CHECK(kind_of(R"({"entries":1})") == Kind::other);
  CHECK(recognise(R"({"entries":1})", true).looks_like.find("JSON object") != std::string::npos);
  CHECK(recognise(R"({"segments":1})", true).looks_like.find("memory snapshot") !=
        std::string::npos);
  CHECK(kind_of("  \n[") == Kind::profiler_trace);
  CHECK(kind_of("\xEF\xBB\xBF{\"traceEvents\":[") == Kind::profiler_trace);
  CHECK(kind_of("a layer\n") == Kind::layer_table);
  CHECK(kind_of("a,b,c\n") == Kind::layer_table);
  CHECK(kind_of("a,b\nc,d\n") == Kind::other);  // two commas, but on two lines
  CHECK(recognise("  ", false).looks_like == "white space");
  CHECK(recognise("  ", true).looks_like == "an empty file");
}

TEST_CASE("import: effects of options on each kind of file") {
  const TemporaryFolder folder;
  const std::string table = "layer,parameters,forward_us,backward_us\na,1,2,3\n";
  const auto csv = folder.file("t.csv", table);
  CHECK(import_file(csv, {.gpu = "H100"}).workload.gpu == "H100");
  CHECK_THROWS_WITH_AS(import_file(csv, {.timing = Timing::compacted}),
                       doctest::Contains("only a profiler trace can be compacted"), InputError);
  const auto ddp = folder.file("log.json", log().dump());
  CHECK_THROWS_WITH_AS(import_file(ddp, {.iteration = 0}),
                       doctest::Contains("Leave out --iteration"), InputError);
  CHECK_NOTHROW(import_file(ddp, {}));
  const auto workload = folder.file(
      "w.json",
      R"({"gpu":"A100","parameters":[{"name":"a","shape":[1],"dtype":"int8"},{"name":"b","shape":[1],"dtype":"int8"}]})");
  const Imported read = import_file(workload, {.gpu = "H100"});
  CHECK(read.workload.gpu == "A100");  // the file decides
  CHECK(mentions(read.recognised, "a workload file: 2 parameters"));
  const auto packed = folder.file("t.gz", gzipped(tiny_trace()));
  CHECK(import_file(packed, {}).recognised.front() ==
        "a PyTorch profiler trace, compressed with gzip");
  CHECK(import_file(folder.file("t.json", tiny_trace()), {}).recognised.front() ==
        "a PyTorch profiler trace");
}
