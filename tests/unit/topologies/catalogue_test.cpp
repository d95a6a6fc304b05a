// Data sheet values of GPUs: sm, SMs, GB/s, teraflops in fp32, TF32 and half precision (dense), and
// GiB. A model is listed by the variant that its bare name means; other variants are compared with
// it.
#include <doctest/doctest.h>

#include <cctype>
#include <set>
#include <string>
#include <utility>

#include "ddpsim/topologies/cluster_source.hpp"

using namespace ddpsim;

TEST_CASE("gpu: the catalogue holds the data sheet values") {
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
      {"B300", 103, 148, 8000, 75, 1125, 2250, 268, 18},
      {"A16", 86, 10, 200, 4.5, 9, 17.9, 16, 0},  // one of four GPUs on a card
      {"RTX6000Ada", 89, 142, 960, 91.1, 182.1, 364.2, 48, 0},
      {"RTXPRO6000", 120, 188, 1792, 126, 251.9, 503.8, 96, 0},
      {"MI325X", 90, 304, 6000, 163.4, 653.7, 1307.4, 256, 7},
      {"MI355X", 90, 256, 8000, 157.3, 0, 2516.6, 288, 7},
      {"GB300", 103, 152, 8000, 80, 1250, 2500, 279, 18},
      {"RTX5090", 120, 170, 1792, 104.8, 104.8, 209.5, 32, 0},
      {"MI250X", 80, 110, 1638, 47.9, 0, 191.5, 64, 8},  // a GCD: half of the card
      {"MI210", 80, 104, 1638, 45.3, 0, 181, 64, 3},
      {"MI300A", 90, 228, 5300, 122.6, 490.3, 980.6, 128, 6},
      {"MI300X", 90, 304, 5300, 163.4, 653.7, 1307.4, 192, 7},
  };
  std::set<std::string> models;
  for (const GpuFamily& family : gpu_families())
    for (const GpuModel& gpu : family.gpus) models.insert(gpu.name);
  CHECK(models.size() == std::size(sheets));
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

TEST_CASE("gpu: variants of a model have their data sheet values") {
  struct Sheet {
    const char* name;
    int sms;
    double memory_gbps, half;
    int gib, links;
    bool card;
  };
  const Sheet sheets[] = {
      {"P100-16GB", 56, 732, 21.2, 16, 4, false},
      {"P100-16GB-PCIE", 56, 732, 18.7, 16, 0, true},
      {"P100-12GB-PCIE", 56, 549, 18.7, 12, 0, true},
      {"V100-32GB", 80, 900, 125, 32, 6, false},
      {"V100-16GB", 80, 900, 125, 16, 6, false},
      {"V100-32GB-PCIE", 80, 900, 112, 32, 0, true},
      {"V100-16GB-PCIE", 80, 900, 112, 16, 0, true},
      {"V100S", 80, 1134, 130, 32, 0, true},
      {"A100-80GB", 108, 2039, 312, 80, 12, false},
      {"A100-40GB", 108, 1555, 312, 40, 12, false},
      {"A100-80GB-PCIE", 108, 1935, 312, 80, 12, true},
      {"A100-40GB-PCIE", 108, 1555, 312, 40, 12, true},
      {"H100-SXM", 132, 3350, 989, 80, 18, false},
      {"H100-PCIE", 114, 2000, 756, 80, 12, true},
      {"H100-NVL", 132, 3900, 835.5, 94, 12, true},
      {"H200-SXM", 132, 4800, 989, 141, 18, false},
      {"H200-NVL", 132, 4800, 835.5, 141, 18, true},
      {"GH200-96GB", 132, 4000, 989, 96, 18, false},
      {"GH200-144GB", 132, 4900, 989, 144, 18, false},
      {"RTXPRO6000-WORKSTATION", 188, 1792, 503.8, 96, 0, true},
      {"RTXPRO6000-SERVER", 188, 1597, 480, 96, 0, true},
      {"RTXPRO6000-MAXQ", 188, 1792, 440, 96, 0, true},
  };
  for (const Sheet& sheet : sheets) {
    CAPTURE(sheet.name);
    const auto gpu = find_gpu(sheet.name);
    REQUIRE(gpu);
    CHECK(gpu->variant == sheet.name);
    CHECK(gpu->sms == sheet.sms);
    CHECK(gpu->memory_bandwidth.gigabytes_per_second() == sheet.memory_gbps);
    CHECK(gpu->half_tflops == sheet.half);
    CHECK(gpu->memory == Bytes(sheet.gib * (std::int64_t{1} << 30)));
    CHECK(gpu->links == sheet.links);
    CHECK(gpu->card == sheet.card);
  }
}

TEST_CASE("gpu: a card is not faster than the module of its model, and names state the memory") {
  for (const GpuFamily& family : gpu_families()) {
    for (const GpuModel& gpu : family.gpus) {
      CAPTURE(gpu.variant);
      const auto found = find_gpu(gpu.variant);
      REQUIRE(found);
      CHECK(found->variant == gpu.variant);
      CHECK_FALSE(found->variant_open);
      CHECK(beyond_gpu_name(gpu.variant).empty());
      CHECK(gpu_name_problem(gpu.variant).empty());
      const std::size_t dash = gpu.variant.find('-');
      if (dash != std::string::npos && std::isdigit(gpu.variant[dash + 1]) != 0)
        CHECK(gpu.memory == Bytes(std::stoll(gpu.variant.substr(dash + 1)) << 30));
      const auto first = find_gpu(gpu.name);
      REQUIRE(first);
      CHECK(first->name == gpu.name);
      CHECK(first->vendor == gpu.vendor);
      CHECK(first->compute_capability == gpu.compute_capability);
      CHECK(gpu.sms <= first->sms);
      CHECK(gpu.tf32_tflops <= first->tf32_tflops);
      CHECK(gpu.links.value() <= first->links.value());
      if (gpu.variant == "V100S") continue;  // a later card at a higher clock
      CHECK(gpu.fp32_tflops <= first->fp32_tflops);
      CHECK(gpu.half_tflops <= first->half_tflops);
      if (!gpu.card || gpu.memory > first->memory) continue;
      CHECK(gpu.memory_bandwidth <= first->memory_bandwidth);
    }
  }
}

TEST_CASE("gpu: a name selects a variant, and an open name has a default") {
  const std::pair<const char*, const char*> stated[] = {
      {"Tesla P100-PCIE-12GB", "P100-12GB-PCIE"},
      {"Tesla V100-SXM2-16GB", "V100-16GB"},
      {"Tesla V100-SXM3-32GB", "V100-32GB"},
      {"Tesla V100-DGXS-32GB", "V100-32GB"},
      {"Tesla V100-PCIE-16GB", "V100-16GB-PCIE"},
      {"Tesla V100S-PCIE-32GB", "V100S"},
      {"V100-16GB", "V100-16GB"},
      {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
      {"NVIDIA A100-PCIE-40GB", "A100-40GB-PCIE"},
      {"NVIDIA A100 80GB PCIe", "A100-80GB-PCIE"},
      {"a100_40gb", "A100-40GB"},
      {"NVIDIA A800-SXM4-80GB", "A800-80GB"},
      {"NVIDIA H100 80GB HBM3", "H100-SXM"},
      {"NVIDIA H100 PCIe", "H100-PCIE"},
      {"NVIDIA H100 NVL", "H100-NVL"},
      {"H100-94GB", "H100-NVL"},
      {"NVIDIA H200 NVL", "H200-NVL"},
      {"NVIDIA GH200 480GB", "GH200-96GB"},
      {"NVIDIA GH200 120GB", "GH200-96GB"},
      {"NVIDIA GH200 144G HBM3e", "GH200-144GB"},
      {"B200 192GB", "B200"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000-SERVER"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTXPRO6000-WORKSTATION"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTXPRO6000-MAXQ"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"},
  };
  for (const auto& [product, variant] : stated) {
    const std::string name = product;  // clang 14 cannot capture the binding itself
    CAPTURE(name);
    const auto gpu = find_gpu(name);
    REQUIRE(gpu);
    CHECK(gpu->variant == variant);
    CHECK(gpu->stated() == variant);
    CHECK(beyond_gpu_name(name).empty());
  }
  const std::pair<const char*, const char*> open[] = {
      {"A100", "A100-80GB"},
      {"V100", "V100-32GB"},
      {"H100", "H100-SXM"},
      {"P100", "P100-16GB"},
      {"A100-PCIE", "A100-80GB-PCIE"},
      {"H100-80GB", "H100-SXM"},
      {"NVIDIA A100-PG509-200", "A100-80GB"},
  };
  for (const auto& [product, variant] : open) {
    const std::string name = product;
    CAPTURE(name);
    const auto gpu = find_gpu(name);
    REQUIRE(gpu);
    CHECK(gpu->variant == variant);
    CHECK(gpu->variant_open);
    CHECK(gpu->stated() == gpu->name);
    CHECK(beyond_gpu_name(name).empty());
  }
}

TEST_CASE("gpu: a suffix that no variant has is reported together with the variants") {
  CHECK(gpu_name_problem("A100-41GB") == "unknown variant \"41GB\" of A100");
  CHECK(gpu_name_problem("H100-SXM-94GB") == "unknown variant \"94GB\" of H100");
  CHECK(gpu_name_problem("A100-NVL") == "unknown variant \"NVL\" of A100");
  CHECK(gpu_name_problem("A100-banana") == "unknown variant \"banana\" of A100");
  CHECK(gpu_name_problem("L4-48GB") == "unknown variant \"48GB\" of L4");
  CHECK(gpu_name_problem("L40S-SXM") == "unknown variant \"SXM\" of L40S");
  CHECK(gpu_name_problem("Foo") == "unknown GPU \"Foo\"");
  CHECK(gpus_instead_of("A100-41GB") ==
        "Variants of A100: A100-80GB, A100-40GB, A100-80GB-PCIE, A100-40GB-PCIE");
  CHECK(gpus_instead_of("L4-48GB") == "L4 is known in one variant: leave the word out");
  // A device name is not a user's mistake, so the known model is accepted.
  const auto custom = find_gpu("NVIDIA A100-SXM-64GB");
  REQUIRE(custom);
  CHECK(custom->name == "A100");
  CHECK(custom->variant_open);
}

TEST_CASE("gpu: names printed by PyTorch and profilers are recognised, other chips are not") {
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
      {"NVIDIA B300 SXM6 AC", "B300"},
      {"NVIDIA A16", "A16"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"},
      {"AMD Instinct MI325X", "MI325X"},
      {"AMD Instinct MI355X", "MI355X"},
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
  for (const char* other :
       {"NVIDIA A1000", "NVIDIA A2", "NVIDIA L2", "NVIDIA T400", "NVIDIA RTX A4500",
        "Quadro RTX 6000", "NVIDIA RTX 5000 Ada Generation", "NVIDIA RTX A5000 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 5090 D", "4090Laptop", "4090D", "A100MIG",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A40-24Q", "GRID A100-10C", "AMD Instinct MI250",
        "AMD Instinct MI308X", "NVIDIA B100"}) {
    CAPTURE(other);
    CHECK_FALSE(find_gpu(other));
  }
}

TEST_CASE("gpu: an unknown name is answered with similar names and GPUs by speed") {
  const std::string hint = gpus_instead_of("A4500");
  CHECK(hint.starts_with(
      "Similar names: A6000, A5000, A100. For a GPU that is missing, take the known GPU nearest in "
      "half-precision speed (dense TFLOPS): servers GB300 2500, GB200 2500, "));
  CHECK(hint.find("; PCIe cards L40S 362, L40 181, ") != std::string::npos);
  CHECK(hint.ends_with(
      "; AMD MI355X 2517, MI325X 1307, MI300X 1307, MI300A 981, MI250X 192, MI210 181"));
  CHECK(gpus_instead_of("NVIDIA RTX A4500") == hint);
  CHECK(gpus_instead_of("GeForce RTX 4070").starts_with("Similar names: RTX4090, "));
  CHECK(gpus_instead_of("Foo").starts_with("Take the known GPU nearest"));
  CHECK(gpus_instead_of("").starts_with("Take the known GPU nearest"));
}

TEST_CASE("gpu: names with suffixes, without RTX, and of other chips") {
  CHECK(gpu_model_name("2080 Ti") == "RTX2080Ti");
  CHECK(gpu_model_name("4090") == "RTX4090");
  CHECK(gpu_model_name("Tesla V100S-PCIE-32GB") == "V100");
  CHECK(gpu_model_name("a100-sxm4-40gb") == "A100");
  CHECK_FALSE(find_gpu("RTX 4090 Super"));
  CHECK_FALSE(find_gpu("RTX 3090 Max-Q"));
  CHECK_FALSE(find_gpu("A1000"));
  CHECK_FALSE(find_gpu(""));
}
