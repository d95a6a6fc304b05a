// Numbers of a trace: microseconds as whole nanoseconds, and busy time without gaps.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "busy_time.hpp"
#include "trace_event.hpp"
#include "trace_header.hpp"
#include "trace_records.hpp"

using namespace ddpsim;

TEST_CASE("trace times: microseconds become whole nanoseconds") {
  const auto ns = nanoseconds_from_microseconds;
  CHECK(ns("0") == 0);
  CHECK(ns("12") == 12'000);
  CHECK(ns("1.2") == 1'200);
  CHECK(ns("1.23") == 1'230);
  CHECK(ns("1.234") == 1'234);
  CHECK(ns("1.2349") == 1'234);
  CHECK(ns("1.") == 1'000);
  CHECK(ns("-1.5") == -1'500);
  CHECK(ns("-0.001") == -1);
  CHECK(ns("1712195495505583.25") == 1'712'195'495'505'583'250);
  CHECK(ns("2.5e3") == 2'500'000);
  CHECK(ns("1e-3") == 1);
}

TEST_CASE("trace times: other texts, or values beyond 63 bits, are absent") {
  const auto ns = nanoseconds_from_microseconds;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000 - 1;
  CHECK(ns(std::to_string(kMost)) == kMost * 1000);
  CHECK_FALSE(ns(std::to_string(kMost + 1)).has_value());
  for (const char* text :
       {"", "-", "--1", "+1", ".5", "1x", "1.5x", "1 ", "nan", "1e30", "-1e30"}) {
    CAPTURE(text);
    CHECK_FALSE(ns(text).has_value());
  }
}

TEST_CASE("busy time: the union of activities without NCCL's, at every border") {
  const auto activity = [](std::int64_t from_ns, std::int64_t to_ns, bool nccl = false) {
    Activity one;
    one.start_ns = from_ns;
    one.end_ns = to_ns;
    one.nccl = nccl;
    return one;
  };
  // Busy from 10 to 40 (three activities that overlap or touch) and from 60 to 70. A collective
  // does not count.
  const BusyTime busy({activity(30, 40), activity(10, 20), activity(20, 30), activity(12, 18),
                       activity(60, 70), activity(0, 100, true)});
  CHECK(busy.between(0, 10) == 0);
  CHECK(busy.between(0, 11) == 1);
  CHECK(busy.between(10, 40) == 30);
  CHECK(busy.between(39, 60) == 1);
  CHECK(busy.between(40, 60) == 0);
  CHECK(busy.between(0, 65) == 35);
  CHECK(busy.between(0, 70) == 40);
  CHECK(busy.between(0, 1000) == 40);
  CHECK(busy.between(15, 62) == 27);
  CHECK(BusyTime().between(0, 1000) == 0);
}

TEST_CASE("trace header: the model within a GPU's full name") {
  CHECK(gpu_model_token("Tesla V100-SXM2-32GB") == "V100");
  CHECK(gpu_model_token("NVIDIA A100-SXM4-80GB") == "A100");
  CHECK(gpu_model_token("NVIDIA GeForce RTX 2080 Ti") == "2080Ti");
  CHECK(gpu_model_token("NVIDIA GeForce RTX 4070 SUPER") == "4070SUPER");
  CHECK(gpu_model_token("Quadro GV100") == "GV100");
  CHECK(gpu_model_token("AMD Instinct MI300X") == "MI300X");
  CHECK(gpu_model_token("NVIDIA H100_PCIe") == "H100");
  CHECK(gpu_model_token("NVIDIA L4(24GB)") == "L4");
  CHECK(gpu_model_token("NVIDIA  A100 - SXM4") == "A100");
  CHECK(gpu_model_token(" Tesla (V100)") == "V100)");
  CHECK(gpu_model_token("NVIDIA RTX _ 4090 - Laptop GPU") == "4090Laptop");
  CHECK(gpu_model_token("NVIDIA") == "NVIDIA");
  CHECK(gpu_model_token("NVIDIA RTX A6000") == "A6000");
  // A part of a GPU, or a smaller GPU, does not count as the model.
  CHECK(gpu_model_token("NVIDIA GeForce RTX 4090 Laptop GPU") == "4090Laptop");
  CHECK(gpu_model_token("NVIDIA GeForce RTX 4090 D") == "4090D");
  CHECK(gpu_model_token("NVIDIA A100-SXM4-40GB MIG 1g.5gb") == "A100MIG");
}

TEST_CASE("trace records: durations beyond 32 bits of nanoseconds are kept in microseconds") {
  TraceRecords records;
  const std::int64_t longest = std::numeric_limits<std::uint32_t>::max();
  std::int64_t start = 0;
  for (const std::int64_t duration : {longest, longest + 1, std::int64_t{5'000'000'999}}) {
    TraceEvent node;
    node.kind = EventKind::cpu_op;
    node.name = "autograd::engine::evaluate_function: AddmmBackward0";
    node.thread = "2";
    node.start_ns = start;
    node.duration_ns = duration;
    records.add(node);
    start += 1000;
  }
  records.finish();
  const std::vector<HostSpan> nodes = records.nodes(TraceRecords::Node::any, 0, start);
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[0].end_ns - nodes[0].start_ns == longest);
  CHECK(nodes[1].end_ns - nodes[1].start_ns == 4'294'967'000);
  CHECK(nodes[2].start_ns == 2000);
  CHECK(nodes[2].end_ns - nodes[2].start_ns == 5'000'000'000);
  CHECK(nodes[2].thread == nodes[0].thread);
}
