#include "power_sgd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "ddpsim/sim/step/job_buckets.hpp"

namespace ddpsim {
namespace {

/// First version whose hook calls torch.linalg.qr (pytorch/pytorch#72043).
constexpr TorchVersion kQr{1, 12};
constexpr std::int64_t kGramSchmidtColumns = 2;

bool is_half(Dtype dtype) {
  return dtype == Dtype::float16 || dtype == Dtype::bfloat16;
}
bool is_real(Dtype dtype) {
  return is_half(dtype) || dtype == Dtype::float32 || dtype == Dtype::float64;
}

/// Kernels that the hook launches together.
class Launched {
 public:
  Launched(const Job& job, const KernelCosts& kernels, Dtype dtype)
      : costs_(job.options().costs),
        gpu_(job.cluster().gpu),
        kernels_(kernels),
        dtype_(dtype),
        qr_from_(job.options().torch >= kQr && !is_half(dtype)) {}

  /// Adds kernels that together read or write `elements` elements `passes` times.
  void add(std::int64_t kernels, std::int64_t elements, std::int64_t passes) {
    if (elements == 0) return;
    host_ += costs_.host_hook_kernel * kernels;
    gpu_time_ += kernels_.kernels(kernels, bytes(elements * passes));
    launched_ += kernels;
  }
  /// Adds the allocation of elements that the next kernels are the first to write.
  void allocate(std::int64_t elements) { gpu_time_ += kernels_.allocate(bytes(elements)); }

  /// Normalises each column of a rows x rank matrix and subtracts it from the columns after it.
  void orthogonalise(std::int64_t rows, std::int64_t rank) {
    if (qr_from_ && rank > kGramSchmidtColumns) {
      const Duration qr = costs_.qr + costs_.qr_column * rank;
      host_ += qr;
      gpu_time_ += qr;
      ++launched_;
      return;
    }
    // Norm and division take 3 passes over a column. Each column after it takes 7: product, sum,
    // product, difference.
    const std::int64_t behind = rank * (rank - 1) / 2;
    add(6 * rank - 4, rows, 3 * rank + 2 * (rank - 1) + 7 * behind);
  }

  void product(const LowRank& matrix) {
    const auto [rows, columns, rank] = matrix;
    add(1, rows * columns + (rows + columns) * rank, 1);
    const double tflops = is_half(dtype_) ? gpu_.half_tflops : gpu_.fp32_tflops;
    const double flops =
        2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(rank);
    if (tflops > 0 && !kernels_.on_host()) gpu_time_ += Duration::seconds(flops / (tflops * 1e12));
  }

  /// The last kernel is separate, because it cannot run before it has been launched.
  HookWork work() const {
    if (launched_ == 0) return {};
    const Duration last = gpu_time_.scaled(1 / static_cast<double>(launched_));
    return {.kernels = {gpu_time_ - last, last}, .host = host_};
  }

 private:
  Bytes bytes(std::int64_t elements) const { return Bytes(elements * element_size(dtype_)); }

  const DdpCosts& costs_;
  const GpuModel& gpu_;
  const KernelCosts& kernels_;
  Dtype dtype_;
  bool qr_from_;
  Duration host_;
  Duration gpu_time_;
  std::int64_t launched_ = 0;
};

}  // namespace

std::optional<LowRank> low_rank(const Parameter& parameter, const PowerSgd& setting) {
  const std::int64_t elements = gradient_bytes(parameter)->count() / element_size(parameter.dtype);
  LowRank matrix{.rows = parameter.shape->front()};
  matrix.columns = elements / matrix.rows;
  matrix.rank = std::min(
      {matrix.rows, matrix.columns, static_cast<std::int64_t>(setting.matrix_approximation_rank)});
  const double compressed =
      static_cast<double>(matrix.rows + matrix.columns) * static_cast<double>(matrix.rank);
  if (compressed * setting.min_compression_rate < static_cast<double>(elements)) return matrix;
  return std::nullopt;
}

LowRankElements low_rank_elements(const Workload& workload, const Bucket& bucket,
                                  const PowerSgd& setting) {
  LowRankElements sum;
  for (const std::size_t index : bucket.parameters) {
    const Parameter& parameter = workload.parameters[index];
    if (const auto matrix = low_rank(parameter, setting)) {
      sum.p += matrix->rows * matrix->rank;
      sum.q += matrix->columns * matrix->rank;
    } else {
      sum.whole += gradient_bytes(parameter)->count() / element_size(parameter.dtype);
    }
  }
  return sum;
}

/// gloo runs the hook's callbacks in its own threads. Each callback starts an all-reduce and waits
/// for it. Other work in flight may occupy the thread it waits for, and ranks may start the two in
/// different orders.
std::optional<std::string> cannot_reduce_low_rank(const Job& job) {
  if (!std::holds_alternative<GlooModel>(job.model())) return std::nullopt;
  const DdpOptions& ddp = job.options().ddp();
  constexpr const char* kWhy =
      "powerSGD_hook runs in gloo's threads. {}, training can stop or ranks can mix up their "
      "all-reduces (seen with PyTorch 1.13 and 2.13). Use NCCL, or {}";
  if (const std::size_t buckets = buckets_of(job).size(); buckets > 1)
    return fmt::format(kWhy, fmt::format("With several buckets, here {}", buckets),
                       "one bucket (--bucket-cap-mb)");
  if (ddp.find_unused_parameters && !ddp.static_graph)
    return fmt::format(kWhy, "During the all-reduce of --find-unused-parameters",
                       "leave that option out");
  return std::nullopt;
}

std::optional<std::string> cannot_compress(const Job& job) {
  if (job.options().ddp().comm_hook != CommHook::power_sgd) return std::nullopt;
  for (const Parameter& parameter : job.workload().parameters) {
    if (!is_reduced(parameter)) continue;
    const char* why = nullptr;
    if (parameter.sparse_gradient)
      why = "has a sparse gradient";
    else if (parameter.shape->empty())
      why = "is a scalar";
    else if (gradient_bytes(parameter) == Bytes())
      why = "has no elements";
    else if (!is_real(parameter.dtype))
      why = "is not of a floating-point type";
    if (why != nullptr)
      return fmt::format(
          "parameter \"{}\" {}, and powerSGD_hook fails on it. Leave out --comm-hook powersgd",
          parameter.name, why);
  }
  return cannot_reduce_low_rank(job);
}

BucketHook power_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket) {
  const Workload& workload = job.workload();
  const PowerSgd& setting = job.options().ddp().power_sgd;
  const std::int64_t size = element_size(bucket.dtype);
  const std::int64_t elements = bucket.bytes.count() / size;
  const LowRankElements sent = low_rank_elements(workload, bucket, setting);
  const auto launched = [&] { return Launched(job, kernels, bucket.dtype); };
  Launched before = launched();
  Launched unpack = launched();
  Launched compute_q = launched();
  Launched decompress = launched();
  Launched error = launched();

  before.add(1, elements, 3);
  before.add(1, elements, 2);
  before.add(1, sent.whole, 2);
  before.allocate(elements + sent.whole);
  unpack.add(1, sent.whole, 2);
  std::int64_t travel_whole = 0;
  decompress.add(1, sent.q, 2);
  for (const std::size_t index : bucket.parameters) {
    const auto matrix = low_rank(workload.parameters[index], setting);
    if (!matrix) {
      ++travel_whole;
      continue;
    }
    before.orthogonalise(matrix->columns, matrix->rank);
    before.product(*matrix);
    compute_q.orthogonalise(matrix->rows, matrix->rank);
    compute_q.product(*matrix);
    decompress.product(*matrix);
  }
  unpack.add(travel_whole, sent.whole, 2);
  error.add(1, elements, 3);
  error.allocate(elements);
  return {.before = before.work(),
          .stages = {{.bytes = Bytes(sent.whole * size), .then = unpack.work()},
                     {.bytes = Bytes(sent.p * size), .then = compute_q.work()},
                     {.bytes = Bytes(sent.q * size), .then = decompress.work()}},
          .waits = stops_backward(CommHook::power_sgd),
          .after = error.work()};
}

}  // namespace ddpsim
