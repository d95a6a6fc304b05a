#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data_files.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"

using namespace ddpsim;

namespace {

struct Tensor {
  std::int64_t bytes;
  Dtype dtype = Dtype::float32;
  bool sparse = false;
};

std::vector<Parameter> parameters_of(const std::vector<Tensor>& tensors) {
  std::vector<Parameter> parameters;
  for (const Tensor& tensor : tensors) {
    Parameter parameter;
    parameter.name = "p" + std::to_string(parameters.size());
    parameter.dtype = tensor.dtype;
    parameter.shape = {{tensor.bytes / element_size(tensor.dtype)}};
    parameter.sparse_gradient = tensor.sparse;
    parameters.push_back(parameter);
  }
  return parameters;
}

std::vector<Bytes> bytes_list(const std::vector<std::int64_t>& values) {
  std::vector<Bytes> list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return list;
}

using Indices = std::vector<std::vector<std::size_t>>;

Indices indices_of(const std::vector<Bucket>& buckets) {
  Indices indices;
  for (const Bucket& bucket : buckets) indices.push_back(bucket.parameters);
  return indices;
}

std::vector<std::int64_t> bytes_of(const std::vector<Bucket>& buckets) {
  std::vector<std::int64_t> bytes;
  for (const Bucket& bucket : buckets) bytes.push_back(bucket.bytes.count());
  return bytes;
}

std::vector<Bucket> assign(const std::vector<Tensor>& tensors,
                           const std::vector<std::int64_t>& limits,
                           std::vector<std::size_t> order = {}) {
  const std::vector<Parameter> parameters = parameters_of(tensors);
  const BucketOrder result =
      order.empty() ? BucketOrder::by_smallest_index : BucketOrder::as_emitted;
  if (order.empty()) {
    order.resize(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  return assign_buckets(parameters, order, bytes_list(limits), result);
}

Workload workload_of(const char* model_name) {
  const Model model = *find_model(model_name);
  Workload workload;
  workload.parameters = model.parameters;
  workload.backward.emplace();
  for (const std::size_t index : model.ready_order)
    workload.backward->ready.push_back({.parameter = index, .at = {}, .copied_at = {}});
  return workload;
}

std::vector<std::int64_t> steady(const char* model, const DdpOptions& options,
                                 TorchVersion torch = {}) {
  return bytes_of(steady_buckets(workload_of(model), options, torch));
}

}  // namespace

TEST_CASE("bucket assignment: a bucket closes when its bytes reach the limit") {
  CHECK(indices_of(assign({{400}, {400}, {400}}, {400})) == Indices{{0}, {1}, {2}});
  CHECK(bytes_of(assign({{396}, {4}, {396}, {4}, {4}}, {400})) ==
        std::vector<std::int64_t>{400, 400, 4});
}

TEST_CASE("bucket assignment: limits are consumed in turn and the last repeats") {
  const std::vector<Tensor> nine(9, Tensor{400});
  CHECK(bytes_of(assign(nine, {400, 800, 1200})) ==
        std::vector<std::int64_t>{400, 800, 1200, 1200});
}

TEST_CASE("bucket assignment: a large tensor joins what is open, then closes it") {
  CHECK(bytes_of(assign({{40}, {40000}, {40}, {40}}, {400})) ==
        std::vector<std::int64_t>{40040, 80});
}

TEST_CASE("bucket assignment: each dtype has its own open bucket and its own limits") {
  const Tensor f{400};
  const Tensor h{200, Dtype::float16};
  CHECK(indices_of(assign({f, h, f, h, f, h}, {400, 800})) == Indices{{0}, {1, 3}, {2, 4}, {5}});
}

TEST_CASE(
    "bucket assignment: a sparse gradient gets its own bucket and leaves the open one unchanged") {
  const auto buckets = assign({{40}, {20000, Dtype::float32, true}, {40}, {320}, {20}}, {400});
  CHECK(indices_of(buckets) == Indices{{0, 2, 3}, {1}, {4}});
  CHECK(buckets[1].closed_by == ClosedBy::sparse);
  CHECK(buckets[1].limit == Bytes(0));
  CHECK(buckets[2].closed_by == ClosedBy::end);
}

TEST_CASE("bucket assignment: emission order is kept if the caller gives an order") {
  CHECK(indices_of(assign({{400}, {400}, {400}}, {400, 800}, {2, 0, 1})) == Indices{{2}, {0, 1}});
}

TEST_CASE("bucket assignment: the leftover bucket of the dtype met last comes first") {
  const Tensor f{400};
  const Tensor h{200, Dtype::float16};
  const Tensor d{800, Dtype::float64};
  CHECK(indices_of(assign({f, h, d, h}, {4000}, {0, 1, 2, 3})) == Indices{{2}, {1, 3}, {0}});
  // The order depends on when a type was met, not on when its bucket was opened: float32's bucket
  // closed and opened again after the others.
  CHECK(indices_of(assign({f, h, d, f}, {400}, {0, 1, 2, 3})) == Indices{{0}, {2}, {3}, {1}});
  CHECK(indices_of(assign({f, h, {1200}, h, {8}}, {1200}, {0, 1, 2, 3, 4})) ==
        Indices{{0, 2}, {1, 3}, {4}});
}

TEST_CASE("bucket assignment: tensors and limits of 0 bytes, and a limit of 2^63 - 1") {
  CHECK(assign({}, {400}).empty());
  CHECK(indices_of(assign({{0}, {4}}, {400})) == Indices{{0, 1}});
  CHECK(indices_of(assign({{0}, {4}}, {0})) == Indices{{0}, {1}});
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(indices_of(assign({{4}, {4}, {4}}, {most})) == Indices{{0, 1, 2}});
}

TEST_CASE("ResNet-18 under 1.7 has the three message sizes of pytorch#48880") {
  CHECK(steady("resnet18", {}, {1, 7}) == std::vector<std::int64_t>{2052000, 28852224, 15853824});
  CHECK(steady("resnet18", {.bucket_cap_mb = 35}, {1, 7}) ==
        std::vector<std::int64_t>{2052000, 38297600, 6408448});
}

TEST_CASE("ResNet-50: first iteration, rebuilt buckets, and what versions change") {
  const Workload resnet50 = workload_of("resnet50");
  CHECK(bytes_of(buckets_of_iteration(resnet50, {}, TorchVersion(), 1)) ==
        std::vector<std::int64_t>{102228128});
  CHECK(bytes_of(buckets_of_iteration(resnet50, {}, TorchVersion(), 2)) ==
        std::vector<std::int64_t>{8196000, 31502336, 26255360, 26550272, 9724160});
  // Since 2.5 any cap that is passed holds for the first bucket too, even the default of 25.
  CHECK(steady("resnet50", {.bucket_cap_mb = 25}, {2, 8}) ==
        std::vector<std::int64_t>{30257056, 26255360, 28366848, 17348864});
  CHECK(steady("resnet50", {.bucket_cap_mb = 25}, {2, 4}) ==
        std::vector<std::int64_t>{8196000, 31502336, 26255360, 26550272, 9724160});
  // Buckets are never rebuilt here, so they come in reverse definition order and the small bucket
  // is last.
  CHECK(steady("resnet50", {}, {1, 5}) ==
        std::vector<std::int64_t>{12410784, 31502336, 29669376, 27022336, 1623296});
}

TEST_CASE(
    "find_unused_parameters keeps construction buckets, static_graph rebuilds from the third "
    "step") {
  CHECK(steady("resnet18", {.find_unused_parameters = true}) ==
        std::vector<std::int64_t>{11497376, 33744896, 1515776});
  const Workload resnet18 = workload_of("resnet18");
  const DdpOptions fixed{.static_graph = true};
  CHECK(bytes_of(buckets_of_iteration(resnet18, fixed, TorchVersion(), 2)) ==
        std::vector<std::int64_t>{46758048});
  CHECK(bytes_of(buckets_of_iteration(resnet18, fixed, TorchVersion(), 3)) ==
        std::vector<std::int64_t>{2052000, 28852224, 15853824});
}

TEST_CASE("bytes of buckets are the bytes of the parameters, whatever the cap") {
  for (const double cap : {0.0, 0.001, 1.0, 7.7, 25.0, 1e6, 1e300}) {
    std::int64_t total = 0;
    for (const std::int64_t bytes : steady("resnet50", {.bucket_cap_mb = cap})) total += bytes;
    CHECK(total == 102228128);
  }
}

TEST_CASE("options that a version lacks are named with the version that has them") {
  CHECK(unsupported({.gradient_as_bucket_view = true}, {1, 6})->find("1.7") != std::string::npos);
  CHECK(unsupported({.static_graph = true}, {1, 7}).has_value());
  CHECK(unsupported({.bucket_cap_mb_list = {1, 25}}, {2, 8})->find("2.11") != std::string::npos);
  CHECK(unsupported({.first_bucket_mb = 2}, {1, 9}).has_value());
  CHECK(unsupported({.bucket_cap_mb = 50, .first_bucket_mb = 2}, {2, 8}).has_value());
  CHECK_FALSE(unsupported({.bucket_cap_mb = 50, .first_bucket_mb = 2}, {2, 4}));
  CHECK_FALSE(unsupported({.static_graph = true}, {2, 8}));
}

TEST_CASE("bucket assignment: every reference case gives the output of PyTorch's own function") {
  const std::string path = files::shared_file("reference/bucket-assignment-cases.json");
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: the reference cases are not beside this checkout");
    return;
  }
  std::ifstream file(path);
  const nlohmann::json document = nlohmann::json::parse(file);
  int compared = 0;
  for (const nlohmann::json& entry : document["cases"]) {
    CAPTURE(entry["id"].get<std::string>());
    std::vector<Tensor> tensors;  // in the order given to the function
    std::vector<std::size_t> ids;
    if (entry.contains("param_list")) {
      const nlohmann::json& list = document["param_lists"][entry["param_list"].get<std::string>()];
      std::vector<std::int64_t> bytes;
      for (const nlohmann::json& numel : list["numel"])
        bytes.push_back(numel.get<std::int64_t>() * 4);
      if (entry["order"] == "gradient_ready") {
        for (const nlohmann::json& index : list["gradient_ready_order"])
          ids.push_back(index.get<std::size_t>());
        for (const std::size_t id : ids) tensors.push_back({bytes[id]});
      } else {
        for (const std::int64_t b : bytes) tensors.push_back({b});
      }
    } else {
      for (const nlohmann::json& tensor : entry["tensors"]) {
        const Dtype dtype = *dtype_from_name(tensor["dtype"].get<std::string>());
        tensors.push_back({tensor["numel"].get<std::int64_t>() * element_size(dtype), dtype});
      }
      if (entry.contains("tensor_indices"))
        ids = entry["tensor_indices"].get<std::vector<std::size_t>>();
    }
    // Parameter `ids[k]` is the k-th tensor; sparseness is looked up by parameter.
    std::vector<std::size_t> order = ids;
    if (order.empty()) {
      order.resize(tensors.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
    }
    const std::size_t slots = order.empty() ? 0 : *std::max_element(order.begin(), order.end()) + 1;
    std::vector<Tensor> by_parameter(slots);
    for (std::size_t k = 0; k < order.size(); ++k) by_parameter[order[k]] = tensors[k];
    if (entry.contains("expect_sparse_gradient"))
      for (std::size_t i = 0; i < slots && i < entry["expect_sparse_gradient"].size(); ++i)
        by_parameter[i].sparse = entry["expect_sparse_gradient"][i].get<bool>();

    const auto buckets =
        assign_buckets(parameters_of(by_parameter), order,
                       bytes_list(entry["bucket_size_limits"].get<std::vector<std::int64_t>>()),
                       ids.empty() ? BucketOrder::by_smallest_index : BucketOrder::as_emitted);
    Indices got = indices_of(buckets);
    Indices expected = entry["expected"]["bucket_indices"].get<Indices>();
    std::vector<std::int64_t> limits;
    for (const Bucket& bucket : buckets) limits.push_back(bucket.limit.count());
    CHECK(limits == entry["expected"]["per_bucket_size_limits"].get<std::vector<std::int64_t>>());
    CHECK(got == expected);
    ++compared;
  }
  CHECK(compared == 90);
}
