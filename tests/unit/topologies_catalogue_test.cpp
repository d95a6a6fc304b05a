// GPUs as their data sheets have them: sm, SMs, GB/s, and teraflops in fp32, TF32 and half precision
// (dense), GiB of the largest card.
#include <doctest/doctest.h>

#include <string>

#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE("gpu: the catalogue has what the data sheets say") {
  struct Sheet {
    const char* name;
    int capability, sms;
    double memory_gbps, fp32, tf32, half;
    int gib;
  };
  const Sheet sheets[] = {
      {"P100", 60, 56, 732, 10.6, 0, 21.2, 16},
      {"V100", 70, 80, 900, 15.7, 0, 125, 32},
      {"T4", 75, 40, 320, 8.1, 0, 65, 16},
      {"RTX2080Ti", 75, 68, 616, 13.4, 0, 53.8, 11},
      {"A100", 80, 108, 2039, 19.5, 156, 312, 80},
      {"A10", 86, 72, 600, 31.2, 62.5, 125, 24},
      {"RTX3090", 86, 82, 936, 35.6, 35.6, 71, 24},
      {"L40S", 89, 142, 864, 91.6, 183, 362, 48},
      {"RTX4090", 89, 128, 1008, 82.6, 82.6, 165.2, 24},
      {"H100", 90, 132, 3350, 67, 494.5, 989, 80},
      {"H800", 90, 132, 3350, 67, 494.5, 989, 80},
      {"H200", 90, 132, 4800, 67, 494.5, 989, 141},
      {"GH200", 90, 132, 4000, 67, 494.5, 989, 96},
      {"B200", 100, 148, 8000, 80, 1125, 2250, 180},
  };
  CHECK(gpu_names().size() == std::size(sheets));
  for (const Sheet& sheet : sheets) {
    CAPTURE(sheet.name);
    const auto gpu = find_gpu(sheet.name);
    REQUIRE(gpu);
    CHECK(gpu->compute_capability == sheet.capability);
    CHECK(gpu->sms == sheet.sms);
    CHECK(gpu->memory_bandwidth.gigabytes_per_second() == sheet.memory_gbps);
    CHECK(gpu->fp32_tflops == sheet.fp32);
    CHECK(gpu->tf32_tflops == sheet.tf32);
    CHECK(gpu->half_tflops == sheet.half);
    CHECK(gpu->memory == Bytes(sheet.gib * (std::int64_t{1} << 30)));
  }
}

TEST_CASE("gpu: names with suffixes, without the RTX, and of chips that are others") {
  CHECK(gpu_model_name("2080 Ti") == "RTX2080Ti");
  CHECK(gpu_model_name("4090") == "RTX4090");
  CHECK(gpu_model_name("Tesla V100S-PCIE-32GB") == "V100");
  CHECK(gpu_model_name("a100-sxm4-40gb") == "A100");
  CHECK_FALSE(find_gpu("RTX 4090 Super"));
  CHECK_FALSE(find_gpu("RTX 3090 Max-Q"));
  CHECK_FALSE(find_gpu("A1000"));
  CHECK_FALSE(find_gpu(""));
}
