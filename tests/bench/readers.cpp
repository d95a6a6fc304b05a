// Measures how many bytes per second the readers read.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "many_gradients.hpp"

namespace ddpsim {
namespace {

/// Counts the bytes of the file on disk, compressed or not.
void BM_ReadTrace(benchmark::State& state, const std::string& path) {
  if (!std::filesystem::exists(path)) {
    state.SkipWithError("the trace does not exist");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(import_file(path, {}));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(std::filesystem::file_size(path)));
}
BENCHMARK_CAPTURE(BM_ReadTrace, tiny, DDPSIM_FIXTURES "/tiny-ddp-trace.json")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadTrace, resnet50_2xA100_gz,
                  DDPSIM_SHARED "/data/traces/r50-ddp-2xA100-rank0.json.gz")
    ->Unit(benchmark::kMillisecond);

void BM_ReadWorkload(benchmark::State& state) {
  const std::string text = format_workload(many_gradients(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(parse_workload(text, "many.json"));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_ReadWorkload)
    ->ArgName("parameters")
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ddpsim
