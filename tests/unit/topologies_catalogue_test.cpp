// GPUs as their data sheets have them: sm, SMs, GB/s, and teraflops in fp32, TF32 and half precision
// (dense), GiB of the largest card.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE("gpu: the catalogue has what the data sheets say") {
  struct Sheet {
    const char* name;
    int capability, sms;
    double memory_gbps, fp32, tf32, half;
    int gib, links;
  };
  const Sheet sheets[] = {
      {"P100", 60, 56, 732, 10.6, 0, 21.2, 16, 4},
      {"V100", 70, 80, 900, 15.7, 0, 125, 32, 6},
      {"T4", 75, 40, 320, 8.1, 0, 65, 16, 0},
      {"RTX2080Ti", 75, 68, 616, 13.4, 0, 53.8, 11, 2},
      {"TITANRTX", 75, 72, 672, 16.3, 0, 130.5, 24, 2},
      {"A100", 80, 108, 2039, 19.5, 156, 312, 80, 12},
      {"A800", 80, 108, 2039, 19.5, 156, 312, 80, 8},
      {"A30", 80, 56, 933, 10.3, 82, 165, 24, 4},
      {"A10", 86, 72, 600, 31.2, 62.5, 125, 24, 0},
      {"A10G", 86, 80, 600, 35, 35, 70, 24, 0},
      {"A40", 86, 84, 696, 37.4, 74.8, 149.7, 48, 4},
      {"A6000", 86, 84, 768, 38.7, 77.4, 154.8, 48, 4},
      {"A5000", 86, 64, 768, 27.8, 55.6, 111.1, 24, 4},
      {"RTX3090", 86, 82, 936, 35.6, 35.6, 71, 24, 4},
      {"L4", 89, 58, 300, 30.3, 60, 121, 24, 0},
      {"L20", 89, 92, 864, 59.8, 59.8, 119.5, 48, 0},
      {"L40", 89, 142, 864, 90.5, 90.5, 181, 48, 0},
      {"L40S", 89, 142, 864, 91.6, 183, 362, 48, 0},
      {"RTX4090", 89, 128, 1008, 82.6, 82.6, 165.2, 24, 0},
      {"H100", 90, 132, 3350, 67, 494.5, 989, 80, 18},
      {"H800", 90, 132, 3350, 67, 494.5, 989, 80, 8},
      {"H20", 90, 78, 4000, 44, 74, 148, 96, 18},
      {"H200", 90, 132, 4800, 67, 494.5, 989, 141, 18},
      {"GH200", 90, 132, 4000, 67, 494.5, 989, 96, 18},
      {"B200", 100, 148, 8000, 80, 1125, 2250, 180, 18},
      {"GB200", 100, 152, 8000, 80, 1250, 2500, 186, 18},
      {"GB300", 103, 152, 8000, 80, 1250, 2500, 279, 18},
      {"RTX5090", 120, 170, 1792, 104.8, 104.8, 209.5, 32, 0},
      {"MI250X", 80, 110, 1638, 47.9, 0, 191.5, 64, 8},  // a GCD, half of the card
      {"MI210", 80, 104, 1638, 45.3, 0, 181, 64, 3},
      {"MI300A", 90, 228, 5300, 122.6, 490.3, 980.6, 128, 6},
      {"MI300X", 90, 304, 5300, 163.4, 653.7, 1307.4, 192, 7},
  };
  std::size_t rows = 0;
  for (const GpuFamily& family : gpu_families()) rows += family.gpus.size();
  CHECK(rows == std::size(sheets));
  for (const Sheet& sheet : sheets) {
    CAPTURE(sheet.name);
    const auto gpu = find_gpu(sheet.name);
    REQUIRE(gpu);
    CHECK((gpu->vendor == GpuVendor::amd) == std::string(sheet.name).starts_with("MI"));
    CHECK(gpu->compute_capability == sheet.capability);
    CHECK(gpu->sms == sheet.sms);
    CHECK(gpu->memory_bandwidth.gigabytes_per_second() == sheet.memory_gbps);
    CHECK(gpu->fp32_tflops == sheet.fp32);
    CHECK(gpu->tf32_tflops == sheet.tf32);
    CHECK(gpu->half_tflops == sheet.half);
    CHECK(gpu->memory == Bytes(sheet.gib * (std::int64_t{1} << 30)));
    CHECK(gpu->links == sheet.links);
  }
}

TEST_CASE("gpu: the names that PyTorch and profilers print, and chips that are others") {
  const std::pair<const char*, const char*> names[] = {
      {"Tesla P100-SXM2-16GB", "P100"},
      {"Tesla V100-SXM2-32GB", "V100"},
      {"Tesla T4", "T4"},
      {"NVIDIA GeForce RTX 2080 Ti", "RTX2080Ti"},
      {"NVIDIA TITAN RTX", "TITANRTX"},
      {"TITAN RTX", "TITANRTX"},
      {"NVIDIA A100-SXM4-80GB", "A100"},
      {"NVIDIA A100 80GB PCIe", "A100"},
      {"NVIDIA A800-SXM4-80GB", "A800"},
      {"NVIDIA A30", "A30"},
      {"NVIDIA A10", "A10"},
      {"NVIDIA A10G", "A10G"},
      {"NVIDIA A40", "A40"},
      {"NVIDIA RTX A6000", "A6000"},
      {"RTXA6000", "A6000"},
      {"NVIDIA RTX A5000", "A5000"},
      {"NVIDIA GeForce RTX 3090", "RTX3090"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA L20", "L20"},
      {"NVIDIA L40", "L40"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA GeForce RTX 4090", "RTX4090"},
      {"NVIDIA H100 80GB HBM3", "H100"},
      {"NVIDIA H800", "H800"},
      {"NVIDIA H20", "H20"},
      {"NVIDIA H200", "H200"},
      {"NVIDIA GH200 480GB", "GH200"},
      {"NVIDIA B200", "B200"},
      {"NVIDIA GB200", "GB200"},
      {"NVIDIA GB300", "GB300"},
      {"NVIDIA GeForce RTX 5090", "RTX5090"},
      {"AMD Instinct MI210", "MI210"},
      {"AMD Instinct MI250X", "MI250X"},
      {"AMD Instinct MI300A", "MI300A"},
      {"AMD Instinct MI300X OAM", "MI300X"},
      {"AMD Instinct MI300X VF", "MI300X"},
  };
  std::set<std::string> found;
  for (const auto& [full, model] : names) {
    CHECK(gpu_model_name(full) == model);
    found.insert(gpu_model_name(full));
  }
  for (const GpuFamily& family : gpu_families())
    for (const GpuModel& gpu : family.gpus) CHECK(found.count(gpu.name) == 1);
  for (const char* other : {"NVIDIA A1000",
                            "NVIDIA A16",
                            "NVIDIA A2",
                            "NVIDIA L2",
                            "NVIDIA T400",
                            "NVIDIA RTX A4500",
                            "Quadro RTX 6000",
                            "NVIDIA RTX 6000 Ada Generation",
                            "NVIDIA RTX 5000 Ada Generation",
                            "NVIDIA RTX A5000 Laptop GPU",
                            "NVIDIA GeForce RTX 4090 D",
                            "NVIDIA GeForce RTX 5090 D",
                            "4090Laptop",
                            "4090D",
                            "A100MIG",
                            "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
                            "NVIDIA A40-24Q",
                            "GRID A100-10C",
                            "AMD Instinct MI250",
                            "AMD Instinct MI325X",
                            "NVIDIA B300",
                            "NVIDIA B100"}) {
    CAPTURE(other);
    CHECK_FALSE(find_gpu(other));
  }
}

TEST_CASE("gpu: a name that is not known is answered with its neighbours by spelling and speed") {
  const std::string hint = gpus_instead_of("A4500");
  CHECK(hint.starts_with(
      "Spelt alike: A6000, A5000, A100; for a GPU that is missing take the known "
      "one nearest in half-precision speed (dense TFLOPS): servers GB300 2500, GB200 2500, "));
  CHECK(hint.find("; PCIe cards L40S 362, L40 181, ") != std::string::npos);
  CHECK(hint.ends_with("; AMD MI300X 1307, MI300A 981, MI250X 192, MI210 181"));
  CHECK(gpus_instead_of("NVIDIA RTX A4500") == hint);
  CHECK(gpus_instead_of("GeForce RTX 4070").starts_with("Spelt alike: RTX4090, "));
  CHECK(gpus_instead_of("Foo").starts_with("Take the known one nearest"));
  CHECK(gpus_instead_of("").starts_with("Take the known one nearest"));
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
