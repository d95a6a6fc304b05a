// Inputs that are no measurement, and their messages: place, what is wrong, remedy.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"

using namespace ddpsim;

namespace {

struct Bad {
  std::string text;
  std::string says;  ///< part of the message
  std::optional<JobShape> stated;
};

const std::string kGood = "1048576 262144 float sum -1 40.00 26.21 39.32 0\n";

const std::string kEight =
    "#  Rank  0 Pid 1 on hostA device 0 [0x07] X\n"
    "#  Rank  7 Pid 1 on hostA device 7 [0x0e] X\n";

const std::string kTwoByTwo =
    "#  Rank  0 Pid 1 on hostA device 0 [0x07] X\n"
    "#  Rank  1 Pid 2 on hostA device 1 [0x0e] X\n"
    "#  Rank  2 Pid 1 on hostB device 0 [0x07] X\n"
    "#  Rank  3 Pid 2 on hostB device 1 [0x0e] X\n";

std::string json_log(const std::string& results) {
  return R"({"version":2,"args":["all_reduce_perf"],"results":)" + results + "}";
}

std::vector<Bad> bad_logs() {
  return {
      {"", "no row of an all_reduce_perf table", {}},
      {"hello\nworld\n", "Redirect all", {}},
      {"# nThread 1 nGpus 1\n#  Rank  0 Pid 1 on hostA device 0 [0x07] X\n", "no row", {}},
      {"layer,parameters,forward_us\nconv,10,3\n", "no row of an all_reduce_perf table", {}},
      // values
      {"1048576 262144 float sum -1 nan 26.21 39.32 0\n", "line 1: time is nan", {}},
      {"1048576 262144 float sum -1 inf 0.00 0.00 0\n", "line 1: time is inf", {}},
      {"1048576 262144 float sum -1 -40.00 26.21 39.32 0\n", "time is -40 us", {}},
      {"1048576 262144 float sum -1 0.00 26.21 39.32 0\n", "A measured time is above 0", {}},
      {kGood + "-8 2 float sum -1 40.00 0.00 0.00 0\n", "line 2: size is -8 bytes", {}},
      {"4611686018427387904 262144 float sum -1 40.00 26.21 39.32 0\n", "algbw is 26.21", {}},
      {kGood + "1048576 262144 float sum -1 41.00 25.58 38.36 0 -1.00 26.55 39.82 0\n",
       "the time in place is -1",
       {}},
      // units mixed up
      {"1048576 262144 float sum -1 0.04 26.21 39.32 0\n", "Is this time in milliseconds?", {}},
      {"1048576 262144 float sum -1 40.00 209.7 314.6 0\n", "Is this algbw in Gbit/s?", {}},
      {"1048576 262144 float sum -1 40.00 24.41 36.62 0\n", "Is this algbw in GiB/s?", {}},
      {"1048576 262144 float sum -1 40.00 26214 39321 0\n", "or algbw in MB/s?", {}},
      {"size_bytes,time_us\n1073741824,0.003\n", "Are these milliseconds or seconds?", {}},
      // other collectives, other clocks
      {"1048576 262144 float none -1 40.00 26.21 22.94 0\n", "without a reduction", {}},
      {"1048576 262144 float sum 0 40.00 26.21 26.21 0\n", "of a collective with root 0", {}},
      {"1048576 262144 float sum -1 40.00 26.21 22.94 0\n", "as in all_gather", {}},
      {"# Collective test starting: reduce_scatter_perf\n" + kGood, "reduce_scatter_perf", {}},
      {"# size count type redop root cputime algbw busbw #wrong\n" + kGood, "without -C", {}},
      {"1048576 262144 float sum -1 40.00 26.21 0.00 0\n", "Build nccl-tests with MPI=1", {}},
      // how many ranks
      {kGood, "4x4 are 16 ranks, but busbw / algbw implies 4", JobShape{4, 4}},
      {kEight + kGood, "the list of devices names 8 ranks", {}},
      {kTwoByTwo + kGood, "names 4 ranks on 2 hosts, up to 2 devices on one. But 4x1",
       JobShape{4, 1}},
      {kTwoByTwo + kGood, "names 4 ranks on 2 hosts, up to 2 devices on one. But 1x4",
       JobShape{1, 4}},
      {kEight + kGood, "names 8 ranks on 1 host, up to 2 devices on one. But 1x4", JobShape{1, 4}},
      {kGood + "2097152 524288 float sum -1 80.00 26.21 45.87 0\n",
       "line 2: busbw / algbw implies another number of ranks",
       {}},
      {kGood + "# nThread 1 nGpus 2\n2097152 524288 float sum -1 80.00 26.21 26.21 0\n",
       "Give one file per job shape",
       {}},
      {"h:1:2 [0] NCCL INFO Using network IB\n", "but no table of times", {}},
      // CSV
      {"size_bytes,time_us\n", "no row", {}},
      {"size_bytes,time_us\n1MiB,40\n", "line 2: size is \"1MiB\"", {}},
      {"size_bytes,time_us\n1024,40us\n", "\"40us\" is not a number", {}},
      {"size_bytes,time_us\n2048,11\n1024,10\n", "line 3: size 1024 follows 2048", {}},
      {"size_bytes,time_us\n1024,10,3\n", "Expected 2, like the header", {}},
      {"size_bytes,time_us\n1024,nan\n", "time is nan", {}},
      {"size_bytes,time_us\n1024,\n", "has neither a time nor a bandwidth", {}},
      {"size_bytes,algbw_gbps\n1048576,-2\n", "the bandwidth is -2", {}},
      {"size_bytes,busbw_gbps\n1048576,20\n", "only busbw", {}},
      {"nodes,size_bytes,time_us\n2,1024,10\n", "one of nodes and gpus_per_node is missing", {}},
      {"nodes,gpus_per_node,size_bytes,time_us\n0,8,1024,10\n", "nodes is \"0\"", {}},
      {"nodes,gpus_per_node,size_bytes,time_us\n2,8,1024,10\n", "Leave out @NxG", JobShape{4, 8}},
      // JSON
      {"{", "log.txt", {}},
      {"{}", "\"results\" is missing", {}},
      {json_log("3"), "/results", {}},
      {json_log("[{\"count\":3}]"), "missing \"size\"", {}},
      {json_log("[{\"size\":-1}]"), "/results/0/size", {}},
      {json_log(R"([{"size":1024,"type":"float","redop":"sum","root":"-1"}])"),
       "no out-of-place time",
       {}},
      {json_log(R"([{"size":1024,"out_of_place":{"time":"nan","alg_bw":1,"bus_bw":1}}])"),
       "time is nan",
       {}},
      {json_log(R"([{"size":1024,"out_of_place":{"cpu_time":3.0,"alg_bw":1,"bus_bw":1}}])"),
       "without -C",
       {}},
  };
}

}  // namespace

TEST_CASE("bad log: every one gets a message with file and remedy") {
  const std::vector<Bad> logs = bad_logs();
  CHECK(logs.size() >= 30);
  for (const Bad& bad : logs) {
    CAPTURE(bad.text);
    std::string message = "nothing";
    std::string hint;
    try {
      parse_nccl_tests_log(bad.text, "log.txt", bad.stated);
    } catch (const InputError& error) {
      message = error.what();
      hint = error.diagnostic().hint.text;
    }
    CAPTURE(message);
    CHECK(message.find("log.txt") == 0);
    CHECK(message.find(bad.says) != std::string::npos);
    if (bad.text != "{")
      CHECK_FALSE((hint.empty() && message.find("expected") == std::string::npos &&
                   message.find("missing") == std::string::npos));
  }
}

TEST_CASE("bad log: messages in full, in the order of the logs above") {
  const std::vector<std::string> messages = {
      "log.txt: no row of an all_reduce_perf table was found. Expected lines such as \"1048576 "
      "262144 float sum -1 40.00 26.21 39.32 0\". Redirect all of the program's output into the "
      "file, or give a CSV with the header size_bytes,time_us",
      "log.txt: no row of an all_reduce_perf table was found. Expected lines such as \"1048576 "
      "262144 float sum -1 40.00 26.21 39.32 0\". Redirect all of the program's output into the "
      "file, or give a CSV with the header size_bytes,time_us",
      "log.txt: no row of an all_reduce_perf table was found. Expected lines such as \"1048576 "
      "262144 float sum -1 40.00 26.21 39.32 0\". Redirect all of the program's output into the "
      "file, or give a CSV with the header size_bytes,time_us",
      "log.txt: no row of an all_reduce_perf table was found. Expected lines such as \"1048576 "
      "262144 float sum -1 40.00 26.21 39.32 0\". Redirect all of the program's output into the "
      "file, or give a CSV with the header size_bytes,time_us",
      "log.txt:line 1: time is nan us. Expected a number of microseconds; remove the row if the "
      "run failed there",
      "log.txt:line 1: time is inf us. Expected a number of microseconds; remove the row if the "
      "run failed there",
      "log.txt:line 1: time is -40 us. A measured time is above 0. Remove the row, or run with "
      "more iterations (-n)",
      "log.txt:line 1: time is 0 us. A measured time is above 0. Remove the row, or run with more "
      "iterations (-n)",
      "log.txt:line 2: size is -8 bytes. Expected 0 to 2^50 bytes",
      "log.txt:line 1: algbw is 26.21 GB/s, but 4611686018427387904 bytes in 40 us are 1.153e+14 "
      "GB/s. time is in microseconds, algbw in GB/s: size / time / 1000",
      "log.txt:line 2: the time in place is -1 us. A measured time is above 0. Remove the row, or "
      "run with more iterations (-n)",
      "log.txt:line 1: algbw is 26.21 GB/s, but 1048576 bytes in 0.04 us are 2.621e+04 GB/s. time "
      "is in microseconds, algbw in GB/s: size / time / 1000. Is this time in milliseconds?",
      "log.txt:line 1: algbw is 209.7 GB/s, but 1048576 bytes in 40 us are 26.21 GB/s. time is in "
      "microseconds, algbw in GB/s: size / time / 1000. Is this algbw in Gbit/s?",
      "log.txt:line 1: algbw is 24.41 GB/s, but 1048576 bytes in 40 us are 26.21 GB/s. time is in "
      "microseconds, algbw in GB/s: size / time / 1000. Is this algbw in GiB/s?",
      "log.txt:line 1: algbw is 26214 GB/s, but 1048576 bytes in 40 us are 26.21 GB/s. time is in "
      "microseconds, algbw in GB/s: size / time / 1000. Is this time in nanoseconds, or algbw in "
      "MB/s?",
      "log.txt:line 2: time of 0.003 us moves 1 GiB at 3.58e+08 GB/s, which no machine does. "
      "Times must be in microseconds. Are these milliseconds or seconds?",
      "log.txt: no table of an all-reduce: line 1: a table without a reduction. Run "
      "all_reduce_perf",
      "log.txt: no table of an all-reduce: line 1: a table of a collective with root 0. Run "
      "all_reduce_perf",
      "log.txt: no table of an all-reduce: line 1: a table with busbw = 0.875 x algbw, as in "
      "all_gather, reduce_scatter and alltoall. Run all_reduce_perf",
      "log.txt: no table of an all-reduce: line 2: a table of \"reduce_scatter_perf\". Run "
      "all_reduce_perf",
      "log.txt:line 2: the times are those of the host (-C 1), not of the collective. Run "
      "all_reduce_perf without -C",
      "log.txt:line 1: busbw is 0: every process ran alone, with one rank. Build nccl-tests with "
      "MPI=1, or let one process drive all GPUs (-g)",
      "log.txt:line 1: 4x4 are 16 ranks, but busbw / algbw implies 4. busbw = algbw x 2(n - 1)/n "
      "in all_reduce_perf",
      "log.txt:line 3: the list of devices names 8 ranks, but busbw / algbw implies 4. busbw = "
      "algbw x 2(n - 1)/n in all_reduce_perf",
      "log.txt:line 1: the list of devices names 4 ranks on 2 hosts, up to 2 devices on one. But "
      "4x1 was stated: 4 nodes of 1 GPU. Leave out @NxG, or correct it: nodes, then GPUs per node",
      "log.txt:line 1: the list of devices names 4 ranks on 2 hosts, up to 2 devices on one. But "
      "1x4 was stated: 1 node of 4 GPUs. Leave out @NxG, or correct it: nodes, then GPUs per node",
      "log.txt:line 1: the list of devices names 8 ranks on 1 host, up to 2 devices on one. But "
      "1x4 was stated: 1 node of 4 GPUs. Leave out @NxG, or correct it: nodes, then GPUs per node",
      "log.txt:line 2: busbw / algbw implies another number of ranks than in the rows above. Rows "
      "of several runs were mixed. Give one table, or keep the headers between them",
      "log.txt:line 3: contains tables of 2 job shapes, among them 4 and 2 ranks. Give one file "
      "per job shape",
      "log.txt: has NCCL's debug lines, but no table of times. Give the output of all_reduce_perf",
      "log.txt: no row of an all_reduce_perf table was found. Expected lines such as \"1048576 "
      "262144 float sum -1 40.00 26.21 39.32 0\". Redirect all of the program's output into the "
      "file, or give a CSV with the header size_bytes,time_us",
      "log.txt:line 2: size is \"1MiB\". Expected an integer from 0 to 1125899906842624, in bytes "
      "without a unit",
      "log.txt:line 2: \"40us\" is not a number. Expected a time, without a unit",
      "log.txt:line 3: size 1024 follows 2048. Sizes must ascend. Sort them as numbers",
      "log.txt:line 2: 3 cells. Expected 2, like the header",
      "log.txt:line 2: time is nan us. Expected a number of microseconds; remove the row if the "
      "run failed there",
      "log.txt:line 2: has neither a time nor a bandwidth. Expected time_us or algbw_gbps",
      "log.txt:line 2: the bandwidth is -2 GB/s. Expected GB/s (1e9 bytes per second), more than 0",
      "log.txt:line 2: has only busbw, but its number of ranks is unknown. State nodes and GPUs "
      "per node: LOG@NxG",
      "log.txt:line 1: one of nodes and gpus_per_node is missing. Expected the header "
      "size_bytes,time_us: bytes and microseconds, in columns of these names (also time_ms, "
      "algbw_gbps, busbw_gbps, time_us_inplace); nodes and gpus_per_node are optional",
      "log.txt:line 2: nodes is \"0\". Expected an integer from 1 to 100000",
      "log.txt:line 2: has 2x8, but 4x8 was stated. Leave out @NxG, or state a job shape that "
      "it has",
      "log.txt:line 1, column 1: not valid JSON: the text ends too early",
      "log.txt: is not the -J output of nccl-tests: \"results\" is missing. Give the text that "
      "all_reduce_perf prints, or its -J file after a complete run",
      "log.txt:/results: 3 is not an array; expected [ … ]",
      "log.txt:/results/0: missing \"size\"",
      "log.txt:/results/0/size: -1 is out of range; expected an integer from 0 to 1125899906842624",
      "log.txt:/results/0: has no out-of-place time. Expected \"out_of_place\": {\"time\": …}",
      "log.txt:/results/0: time is nan us. Expected a number of microseconds; remove the row if "
      "the run failed there",
      "log.txt:/results/0: the times are those of the host (-C 1), not of the collective. Run "
      "all_reduce_perf without -C",
  };
  const std::vector<Bad> logs = bad_logs();
  REQUIRE(messages.size() == logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    std::string message;
    try {
      parse_nccl_tests_log(logs[i].text, "log.txt", logs[i].stated);
    } catch (const InputError& error) {
      message = error.what();
    }
    CHECK(message == messages[i]);
  }
}
