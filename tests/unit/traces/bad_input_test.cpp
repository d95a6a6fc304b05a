// Files that are not traces, and traces that are broken, hostile or useless. Each gets one message
// that names it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/profiler_trace.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace std::string_literals;

namespace {

ByteSource source_of(std::string text) {
  return [text = std::move(text), at = std::size_t{0}](char* buffer, std::size_t capacity) mutable {
    const std::size_t count = std::min(capacity, text.size() - at);
    std::memcpy(buffer, text.data() + at, count);
    at += count;
    return count;
  };
}

/// `head`, then `count` times `filler`, without holding all of it in memory.
ByteSource endless(std::string head, char filler, std::size_t count) {
  return with_head(std::move(head), [filler, count](char* buffer, std::size_t capacity) mutable {
    const std::size_t now = std::min(capacity, count);
    std::memset(buffer, filler, now);
    count -= now;
    return now;
  });
}

std::string source_complaint(const ByteSource& source) {
  return complaint_of([&] { import_profiler_trace(source, "t.json", {}); });
}

std::string complaint_of_file(const std::string& content) {
  const TemporaryFolder folder;
  const std::string name = folder.file("input", content).string();
  const std::string message = complaint_of([&] { import_file(name, {}); });
  return message.find(name) == 0 ? message : "without the file's name: " + message;
}

/// One complete event in a list, with these fields in addition to "ph".
std::string event(const std::string& fields) {
  return "{\"traceEvents\":[{\"ph\":\"X\"," + fields + "}]}";
}

std::string kernel(const std::string& fields) {
  return event("\"cat\":\"kernel\",\"name\":\"k\"," + fields);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

struct BadTrace {
  std::string content;
  const char* message;
};

}  // namespace

TEST_CASE("bad input: files of other tools are named") {
  const std::vector<BadTrace> files = {
      {"SQLite format 3\0....", "cannot be read as an SQLite database"},
      {"PK\x03\x04...", "a zip archive"},
      {"BZh91AY&SY", "a bzip2 archive"},
      {"\xFD"
       "7zXZ\0"s,
       "an xz archive"},
      {"\x28\xB5\x2F\xFD..."s, "a zstd archive"},
      {"7z\xBC\xAF\x27\x1C"s, "a 7-Zip archive"},
      {std::string(257, 'x') + "ustar\0"s, "a tar archive"},
      {"\x7F"
       "ELF\x02\x01"s,
       "a program"},
      {"%PDF-1.7\n", "a PDF"},
      {"\x89PNG\r\n"s, "a picture"},
      {"PAR1....", "a Parquet table"},
      {"\x93NUMPY\x01"s, "a NumPy array"},
      {"\x80\x02}q\x01."s, "a Python pickle"},
      {"\x80\x04\x95"s, "a Python pickle"},
      {"\xFF\xFE{\0"s, "UTF-16 text"},
      {"\xFE\xFF\0{"s, "UTF-16 text"},
      {"\x18\0\0\0\0\0\0\0\xA3\x7F\x4B\x22\x09\0\0\0\0\0\0\0\0\x1A\x0D"
       "brain.Event:2"s,
       "TensorBoard's event file"},
      {"\x0A\x05\0\x01\x02"s, "a binary file"},
      {"<!DOCTYPE html><html>", "HTML or XML"},
      {"<?xml version=\"1.0\"?>", "HTML or XML"},
      {"==4711== NVPROF is profiling process 4711, command: python train.py\n", "an nvprof log"},
      {"\"Type\",\"Time(%)\",\"Time\",\"Calls\"\n", "an nvprof table"},
      {"Time (%),Total Time (ns),Instances,Name\n", "a table of nsys stats"},
      {"==PROF== Connected to process 1\n", "an Nsight Compute log"},
      {"\"Name\",\"Calls\",\"TotalDurationNs\"\n", "a rocprof table"},
      {"-------  ------------\n   Name   Self CPU %\n", "the table of key_averages()"},
      {"Traceback (most recent call last):\n", "a Python traceback"},
      {"| NVIDIA-SMI 550.54 |\n", "the output of nvidia-smi"},
      {"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"},
      {"#  busbw\n# nThread 1\n", "an nccl-tests log"},
      {R"({"segments": [], "device_traces": []})", "a CUDA memory snapshot"},
      {R"({"version": "2.4", "pg_config": {}, "entries": []})", "an NCCL flight recorder dump"},
      {R"({"schema": "ddpsim.result/1"})", "a ddpsim.result/1 file"},
      {R"({"loss": 3.5})", "a JSON object without"},
      {"", "an empty file"},
      {"\n \t\n", "an empty file"},
      {"just words\n", "the format was not recognised"},
  };
  for (const BadTrace& one : files) {
    const std::string message = complaint_of_file(one.content);
    CAPTURE(one.content.substr(0, 60));
    CAPTURE(message);
    CHECK(message.find(one.message) != std::string::npos);
  }
}

TEST_CASE("bad input: damaged and hostile archives get a message") {
  const std::string whole = gzipped(tiny_trace());
  std::string checksum = whole;
  checksum[checksum.size() - 6] ^= 1;
  std::string middle = whole;
  middle[middle.size() / 2] ^= 0x55;
  const std::vector<BadTrace> files = {
      {"\x1f\x8b", "ends early"},
      {whole.substr(0, 9), "ends early"},
      {whole.substr(0, whole.size() / 2), "ends early"},
      {whole.substr(0, whole.size() - 1), "ends early"},
      {checksum, "the gzip data is damaged"},
      {middle, "the gzip data is damaged ("},
      {middle, "). Copy the file again"},
      {whole + "trailing", "the gzip data is damaged"},
      {"\x1f\x8b\x07" + whole.substr(3), "the gzip data is damaged"},
      {gzipped(""), "an empty file"},
      {gzipped("PK\x03\x04"), "a zip archive"},
      {gzipped("{\"traceEvents\":[" + std::string(std::size_t{40} << 20, ' ')),
       "inflates to more than 250 times"},
      {gzipped("{\"a\":\"" + std::string(std::size_t{40} << 20, '{')), "a JSON object without"},
  };
  for (const BadTrace& one : files) {
    const std::string message = complaint_of_file(one.content);
    CAPTURE(one.content.size());
    CAPTURE(message);
    CHECK(message.find(one.message) != std::string::npos);
  }
}

TEST_CASE("bad input: hostile JSON gets a message") {
  const std::string tiny = tiny_trace();
  const std::vector<BadTrace> traces = {
      {kernel("\"ts\":NaN,\"dur\":1"), "no usable \"ts\" (\"NaN\")"},
      {kernel("\"ts\":1,\"dur\":NaN"), "no usable \"dur\" (\"NaN\")"},
      {kernel("\"ts\":1,\"dur\":Infinity"), "no usable \"dur\" (\"Infinity\")"},
      {kernel("\"ts\":-Infinity,\"dur\":1"), "no usable \"ts\" (\"-Infinity\")"},
      {kernel("\"ts\":1,\"dur\":inf"), "no usable \"dur\" (\"inf\")"},
      {kernel("\"ts\":null,\"dur\":1"), "no usable \"ts\" (\"null\")"},
      {kernel("\"ts\":true,\"dur\":1"), "no usable \"ts\" (\"true\")"},
      {kernel("\"ts\":\"\",\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":0x10,\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":1e400,\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":1e30,\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":--1,\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":1.2.3,\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":" + std::string(400, '9') + ",\"dur\":1"), "no usable \"ts\""},
      {kernel("\"ts\":1,\"dur\":" + std::string(100'000, '9')), "no usable \"dur\""},
      {kernel("\"ts\":1,\"dur\":-0.001"), "no usable \"dur\""},
      {kernel("\"ts\":1,\"dur\":-1e9"), "no usable \"dur\""},
      {kernel("\"ts\":1,\"dur\":5,\"dur\":-5"), "no usable \"dur\" (\"-5\")"},
      {kernel("\"ts\":1,\"ts\":\"late\",\"dur\":5"), "no usable \"ts\" (\"late\")"},
      {kernel("\"dur\":5"), "no usable \"ts\""},
      {kernel("\"ts\":[1],\"dur\":5"), "no usable \"ts\""},
      {kernel("\"ts\":{},\"dur\":5"), "no usable \"ts\""},
      {kernel("\"ts\":9223372036854775,\"dur\":1"), "no usable \"ts\""},
      {event("\"cat\":\"kernel\" \"name\":\"k\""), "broken JSON near here"},
      {event("\"cat\":\"kernel\",,"), "broken JSON near here"},
      {event("\"cat\":"), "broken JSON near here"},
      {event("cat:\"kernel\""), "broken JSON near here"},
      {kernel("\"ts\":1,\"dur\":1,\"args\":{\"correlation\":1,}"), "broken JSON near here"},
      {"{\"traceEvents\":[{\"name\":\"C:\\dir\\\"},{\"a\":1}]}", "the trace ends in the middle"},
      {"{\"traceEvents\":[{\"name\":\"no end}]}", "the trace ends in the middle"},
      {"{\"traceEvents\":[" + repeated("{\"a\":", 100'000), "the trace ends in the middle"},
      {"{\"traceEvents\":[" + repeated("[", 1000), "between two events"},
      {"{\"traceEvents\":[{}]]}", "where a comma or the closing brace was expected"},
      {"{\"traceEvents\":[{}],}", "where a name in quotes was expected"},
      {"{\"traceEvents\":\"none\"}", "where the list of events was expected"},
      {"{\"traceEvents\":null}", "where the list of events was expected"},
      {"{\"traceEvents\":[{}],\"deviceProperties\":[", "the trace ends in the middle"},
      {"{\"traceEvents\":[null]}", "between two events"},
      {"[{}] {}", "after the end of the trace"},
      {replaced(tiny, "\"correlation\"", "\"correlated\""),
       "no launch belongs to any GPU activity"},
      {replaced(tiny, "cudaLaunchKernel", "cudaEventQuery"),
       "no launch belongs to any GPU activity"},
      {replaced(replaced(tiny, "\"cat\": \"kernel\"", "\"cat\": \"xpu_kernel\""), "gpu_memcpy",
                "xpu_memcpy"),
       "but it holds no kernel: the profiler of the GPU (CUPTI, roctracer) recorded nothing"},
      {replaced(tiny, "\"ph\": \"X\"", "\"ph\": \"B\""), "no event of a PyTorch profiler"},
      {replaced(tiny, "ProfilerStep#", "ProfilerStop#"), ""},
      {R"([{"name": "aten::add", "ph": "X", "ts": 1, "dur": 1, "tid": 1, "pid": "CPU functions", "args": {}}])",
       "a PyTorch build without Kineto"},
      {R"([{"name": "aten::add", "ph": "X", "ts": 1, "dur": 1, "tid": 0, "pid": "CUDA functions", "args": {}}])",
       "a PyTorch build without Kineto"},
  };
  for (const BadTrace& one : traces) {
    const std::string message = source_complaint(source_of(one.content));
    CAPTURE(one.content.substr(0, 100));
    CAPTURE(message);
    if (*one.message == '\0') {
      CHECK(message == "");
      continue;
    }
    CHECK(message.find("t.json") == 0);
    CHECK(message.find(one.message) != std::string::npos);
    CHECK(message.size() < 1000);
  }
}

TEST_CASE("bad input: white space longer than any window is skipped") {
  const std::string blanks(std::size_t{2} << 20, ' ');
  const std::string tiny = tiny_trace();
  const std::size_t list = tiny.find("\"traceEvents\"");
  REQUIRE(list != std::string::npos);
  CHECK(source_complaint(source_of(tiny.substr(0, list) + blanks + tiny.substr(list) + blanks)) ==
        "");
}

TEST_CASE("bad input: endless content stops at a limit") {
  constexpr std::size_t kMuch = std::size_t{80} << 20;
  CHECK(source_complaint(endless("[{\"name\":\"", 'x', kMuch))
            .find("one event is longer than 64 MiB") != std::string::npos);
  CHECK(source_complaint(endless("{\"deviceProperties\":[\"", 'x', kMuch))
            .find("this member is longer than 4 MiB") != std::string::npos);
  CHECK(source_complaint(endless("{\"", 'x', kMuch)).find("this name does not end") !=
        std::string::npos);
}

TEST_CASE("bad input: clocks that jump are refused or reported") {
  const std::string tiny = tiny_trace();
  // A GPU clock one hour ahead of the host's, and one that is a millisecond behind.
  const std::string kernels = "\"ph\": \"X\", \"cat\": \"kernel\"";
  REQUIRE(tiny.find(kernels) != std::string::npos);
  std::string ahead;
  std::string behind;
  std::istringstream lines(tiny);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("\"ts\": 17121954955");
    if (line.find("\"cat\": \"kernel\"") == std::string::npos || at == std::string::npos) {
      ahead += line + '\n';
      behind += line + '\n';
      continue;
    }
    const std::size_t digits = at + 6;
    const std::int64_t time = std::stoll(line.substr(digits, 16));
    ahead += line.substr(0, digits) + std::to_string(time + 3'600'000'000) +
             line.substr(digits + 16) + '\n';
    behind +=
        line.substr(0, digits) + std::to_string(time - 1'000) + line.substr(digits + 16) + '\n';
  }
  CHECK(source_complaint(source_of(ahead)).find("more than 35 minutes away from its launch") !=
        std::string::npos);
  const Imported imported = import_profiler_trace(source_of(behind), "t.json", {});
  CHECK(std::any_of(imported.warnings.begin(), imported.warnings.end(), [](const std::string& one) {
    return one.find("start before the host launched them") != std::string::npos;
  }));
}
