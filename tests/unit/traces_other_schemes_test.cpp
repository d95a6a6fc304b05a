// Traces of what is not DDP are refused by name, not taken for DDP without communication.
#include <doctest/doctest.h>

#include <string>

#include "complaint.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;

namespace {

/// A step with one gradient; autograd's thread calls these operations after it, one kernel each.
TraceBuilder step_with(const std::vector<std::string>& operations) {
  TraceBuilder trace;
  trace.step(1, 0, 900).kernel(10, 20, 100, TraceBuilder::kCaller);
  trace.node("MulBackward0", 110, 116).kernel(111, 120, 170).gradient(117, 118);
  double at = 200;
  for (const std::string& operation : operations) {
    const std::string arguments =
        fmt::format(R"("Collective name":"{}","dtype":"Float","In msg nelems":8)", operation);
    trace.span("cpu_op", "record_param_comms", TraceBuilder::kAutograd, at - 0.5, at + 2,
               arguments);
    trace.kernel(at, at + 5, at + 15, TraceBuilder::kAutograd, "ncclDevKernel_Generic", arguments);
    at += 20;
  }
  return trace;
}

std::string refusal(const std::vector<std::string>& operations) {
  return complaint_of([&] { step_with(operations).import(); });
}

}  // namespace

TEST_CASE(
    "other schemes: gradients that no all-reduce takes are of another scheme, which is named") {
  CHECK(
      mentions(refusal({"all_gather", "_reduce_scatter_base", "_reduce_scatter_base"}),
               "ProfilerStep#1: 2 reduce-scatters a step and no all-reduce of gradients: they are "
               "sharded, as by "
               "FSDP, ZeRO or a distributed optimizer; ddpsim simulates DistributedDataParallel"));
  CHECK(mentions(refusal({"reduce_scatter_tensor_coalesced"}), "1 reduce-scatter a step"));
  CHECK(mentions(
      refusal({"reduce", "reduce"}),
      "2 reduces a step and no all-reduce of gradients: each goes to one rank, as with ZeRO"));
  CHECK(mentions(refusal({"send", "recv"}), "2 send or receives a step"));
  CHECK(mentions(refusal({"sendrecv"}), "a stage of a pipeline"));
  CHECK(
      mentions(refusal({"all_to_allv"}), "tensor or expert parallel ranks, or sharded parameters"));
  CHECK(mentions(refusal({"_allgather_base"}), "1 all-gather or all-to-all a step"));
}

TEST_CASE("other schemes: DDP beside other groups is DDP, and so is a job that exchanges nothing") {
  for (const std::vector<std::string>& operations : {std::vector<std::string>{},
                                                     {"allreduce"},
                                                     {"all_to_allv", "allreduce"},
                                                     {"reduce_scatter_tensor", "allreduce"},
                                                     {"broadcast"},
                                                     {"barrier"}}) {
    CAPTURE(operations.size());
    CHECK_NOTHROW(step_with(operations).import());
  }
}
