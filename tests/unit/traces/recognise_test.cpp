// Recognition of files by their first bytes: formats that hold too little.
#include "recognise.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace ddpsim;

namespace {

std::string delimited(const std::string& message) {
  std::string out;
  for (std::size_t rest = message.size(); out.empty() || rest > 0; rest >>= 7)
    out += static_cast<char>((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
  return out + message;
}

std::string node(const std::string& name) {
  return delimited("\x08\x07\x12" + delimited(name) + "\x18\x04");
}

const std::string kMetadata = delimited("\x0a" + delimited("0.0.4"));

}  // namespace

TEST_CASE("recognise: Chakra's protobuf is recognised by its messages, complete or truncated") {
  const std::string trace = kMetadata + node("aten::mm") + node(std::string(300, 'x'));
  const std::vector<std::string> chakra = {trace, kMetadata, trace.substr(0, 12),
                                           node("torch::autograd::AccumulateGrad"),
                                           delimited("\x12" + delimited("node without an id"))};
  for (const std::string& head : chakra) {
    CAPTURE(head);
    const Recognition recognition = recognise(head, true);
    CHECK(recognition.looks_like == "a Chakra execution trace (protobuf)");
    CHECK(recognition.hint.find("Import the profiler's trace of the same steps") !=
          std::string::npos);
  }
}

TEST_CASE("recognise: older headers of Chakra have other metadata, or none") {
  const std::string attribute = delimited("\x12" + delimited("\x0a" + delimited("schema")));
  const std::string empty(1, '\0');
  const std::string observer = delimited("\x0a" + delimited("1.1.1-chakra.0.0.4"));
  for (const std::string& header : {attribute, empty, observer}) {
    CHECK(recognise(header + node("aten::mm"), true).looks_like ==
          "a Chakra execution trace (protobuf)");
  }
  for (const std::string& header : {attribute, empty})  // without words of Chakra
    CHECK(recognise(header + "no node", true).looks_like.find("Chakra") == std::string::npos);
}

TEST_CASE("recognise: records of collectives get a hint where they can be used") {
  const Recognition flight = recognise(R"({"entries": [], "pg_config": {}})", true);
  CHECK(flight.hint.find("ddpsim validate") != std::string::npos);
  const Recognition inspector = recognise(R"({"header": {}, "coll_perf": {}})", true);
  CHECK(inspector.looks_like == "a file of NCCL's inspector");
}

TEST_CASE("recognise: other bytes are not recognised as Chakra") {
  for (const std::string& head :
       {std::string("\x05\x0a\x03"
                    "abc"),
        std::string("\x00\x01\x02", 3), std::string("\x08\x07"),
        delimited("\x12" + delimited("a\nb")),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        std::string("layer,parameters,forward_us,backward_us\n"), std::string("{\n \"a\": 1}")}) {
    CAPTURE(head);
    CHECK(recognise(head, true).looks_like.find("Chakra") == std::string::npos);
  }
}

TEST_CASE("recognise: the JSON forms of execution traces are distinguished") {
  struct Case {
    const char* text;
    const char* looks_like;
  };
  const std::vector<Case> cases = {
      {R"({"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": [{"id": 1, "name": "[pytorch]", "ctrl_deps": 1}]})",
       "ExecutionTraceObserver"},
      {R"({"schema": "1.0.1", "nodes": [{"name": "a", "id": 2, "rf_id": 0, "parent": 1}]})",
       "ExecutionTraceObserver"},
      {R"({"schema": "1.1.1", "nodes": [{"id": 5, "ctrl_deps": 2, "inclusive_dur": 8, "ts": 12}]})",
       "a linked Chakra execution trace"},
      {R"({"version": "0.0.4"}{"id": "3", "name": "k", "type": "COMP_NODE"})", "as JSON"},
      {R"({"id": "3", "type": "COMM_COLL_NODE", "durationMicros": "5"})", "as JSON"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const Recognition recognition = recognise(one.text, true);
    CHECK(recognition.kind == Recognition::Kind::other);
    CHECK(recognition.looks_like.find(one.looks_like) != std::string::npos);
    CHECK(recognition.hint.find("no kernel launches") != std::string::npos);
  }
}

TEST_CASE("recognise: DDP logging data by its keys") {
  CHECK(recognise(R"({"rank": 0, "bucket_cap_bytes": 1})", true).kind ==
        Recognition::Kind::ddp_log);
  CHECK(recognise(R"({"num_parameter_tensors": 3})", true).kind == Recognition::Kind::ddp_log);
}
