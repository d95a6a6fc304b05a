#include "ddp_log_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostBucketBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostLoggedParameters = 1'000'000;
constexpr std::int64_t kLongest_ns = 1'000'000'000'000'000;  ///< eleven days, as in a workload file

/// Items between separators. An empty text and "N/A" have none.
std::vector<std::string_view> items_of(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  text = trimmed(text);
  if (text.empty() || text == "N/A") return items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    items.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return items;
}

class LogReader {
 public:
  explicit LogReader(const Cursor& root) : object_(root.free_object()) {}

  DdpLogFields read() {
    // Reads present fields first, so that a wrong value is reported before a missing field.
    read_job();
    read_options();
    read_times();
    read_sizes();
    fields_.total =
        Bytes(object_.required("total_parameter_size_bytes").integer(0, kMostBucketBytes));
    object_.required("num_parameter_tensors");
    object_.required("world_size");
    object_.required("bucket_cap_bytes");
    check_totals();
    return std::move(fields_);
  }

 private:
  std::string text(std::string_view key) const {
    const auto cursor = object_.optional(key);
    const std::string value = cursor ? cursor->string() : "";
    return value == "N/A" ? "" : value;
  }
  std::int64_t number(std::string_view key, std::int64_t low, std::int64_t high,
                      std::int64_t otherwise) const {
    const auto cursor = object_.optional(key);
    return cursor ? cursor->integer(low, high) : otherwise;
  }
  /// PyTorch writes flags as 0 and 1.
  bool flag(std::string_view key, bool otherwise) const {
    return number(key, 0, 1, otherwise ? 1 : 0) == 1;
  }
  std::optional<Duration> nanoseconds(std::string_view key) const {
    const std::int64_t value = number(key, 0, kLongest_ns, 0);
    if (value == 0) return std::nullopt;
    return Duration::picoseconds(value * 1000);
  }
  [[noreturn]] void fail(std::string_view key, std::string message, Hint hint = {}) const {
    object_.required(key).fail(std::move(message), std::move(hint));
  }

  void read_job();
  void read_options();
  void read_times();
  void read_sizes();
  void check_totals() const;
  std::vector<Bytes> sizes(std::string_view key) const;
  std::vector<std::size_t> indices(std::string_view key, std::string_view list, char separator,
                                   std::vector<bool>& seen) const;
  std::int64_t whole_number(std::string_view key, std::string_view item, std::int64_t most) const;

  const Object object_;
  DdpLogFields fields_;
};

void LogReader::read_job() {
  fields_.world_size = static_cast<int>(number("world_size", 1, 1'000'000'000, 1));
  fields_.rank = number("rank", 0, 1'000'000'000, 0);
  if (object_.has("world_size") && fields_.rank >= fields_.world_size) {
    fail("rank",
         fmt::format("there is no rank {} in a world of {}", fields_.rank, fields_.world_size));
  }
  fields_.iteration = number("iteration", 0, kMostBucketBytes, 0);
  fields_.parameters = static_cast<std::size_t>(
      number("num_parameter_tensors", 1, kMostLoggedParameters, kMostLoggedParameters));
  fields_.backend = text("backend_name");
  fields_.module_name = text("module_name");
  const std::string dtypes = text("dtypes");
  for (const std::string_view name : items_of(dtypes, ',')) {
    std::optional<Dtype> dtype;
    if (name == "float") dtype = Dtype::float32;
    if (name == "double") dtype = Dtype::float64;
    if (name == "c10::Half") dtype = Dtype::float16;
    if (name == "c10::BFloat16") dtype = Dtype::bfloat16;
    if (!dtype) {
      fields_.dtypes.clear();
      break;
    }
    fields_.dtypes.push_back(*dtype);
  }
}

void LogReader::read_options() {
  fields_.bucket_cap = Bytes(number("bucket_cap_bytes", 0, kMostBucketBytes, 0));
  fields_.find_unused_parameters = flag("find_unused_parameters", false);
  fields_.static_graph = flag("static_graph", false);
  fields_.gradient_as_bucket_view = flag("gradient_as_bucket_view", false);
  fields_.broadcast_buffers = flag("broadcast_buffers", true);
  fields_.has_sync_bn = flag("has_sync_bn", false);
  fields_.comm_hook = text("comm_hook");
}

void LogReader::read_times() {
  fields_.forward = nanoseconds("forward_compute_time");
  fields_.backward = nanoseconds("backward_compute_time");
  fields_.mean_forward = nanoseconds("avg_forward_compute_time");
  fields_.mean_backward = nanoseconds("avg_backward_compute_time");
  const auto communication = nanoseconds("backward_comm_time");
  const auto overlapped = nanoseconds("backward_compute_comm_overlap_time");
  // Communication counts from the first launch to the end of finalize, the overlap from there to
  // the end of backward compute.
  if (communication && overlapped) {
    fields_.tail = std::max(*communication - *overlapped, Duration());
  }
}

void LogReader::read_sizes() {
  fields_.bucket_sizes = sizes("bucket_sizes");
  fields_.rebuilt_bucket_sizes = sizes("rebuilt_bucket_sizes");
  std::vector<bool> seen(fields_.parameters, false);
  const std::string order = text("prev_iteration_grad_ready_order_indices");
  fields_.last_ready_order = indices("prev_iteration_grad_ready_order_indices", order, ',', seen);
  seen.assign(fields_.parameters, false);
  const std::string members = text("rebuilt_per_bucket_param_indices");
  for (const std::string_view bucket : items_of(members, ',')) {
    fields_.rebuilt_members.push_back(
        indices("rebuilt_per_bucket_param_indices", bucket, ' ', seen));
  }
  const std::size_t buckets = fields_.rebuilt_bucket_sizes.size();
  if (!fields_.rebuilt_members.empty() && fields_.rebuilt_members.size() != buckets) {
    fail("rebuilt_per_bucket_param_indices",
         fmt::format("{} buckets, but rebuilt_bucket_sizes lists {}",
                     fields_.rebuilt_members.size(), buckets));
  }
}

std::int64_t LogReader::whole_number(std::string_view key, std::string_view item,
                                     std::int64_t most) const {
  const auto value = parse_number<std::int64_t>(item);
  if (!value || *value < 0 || *value > most) {
    fail(key, in_quotes(item) + " does not belong in this list",
         fmt::format("Expected whole numbers from 0 to {}", most));
  }
  return *value;
}

std::vector<Bytes> LogReader::sizes(std::string_view key) const {
  std::vector<Bytes> list;
  const std::string value = text(key);
  for (const std::string_view item : items_of(value, ',')) {
    list.emplace_back(whole_number(key, item, kMostBucketBytes));
  }
  return list;
}

std::vector<std::size_t> LogReader::indices(std::string_view key, std::string_view list,
                                            char separator, std::vector<bool>& seen) const {
  std::vector<std::size_t> result;
  for (const std::string_view item : items_of(list, separator)) {
    if (item.empty() && separator == ' ') continue;  // two blanks in a row
    const auto index = static_cast<std::size_t>(
        whole_number(key, item, static_cast<std::int64_t>(seen.size()) - 1));
    if (seen[index]) fail(key, fmt::format("parameter {} is in it twice", index));
    seen[index] = true;
    result.push_back(index);
  }
  return result;
}

/// Each list of buckets holds all parameters, so its bytes must add up to theirs.
void LogReader::check_totals() const {
  for (const std::string_view key : {"bucket_sizes", "rebuilt_bucket_sizes"}) {
    const std::vector<Bytes>& list =
        key == "bucket_sizes" ? fields_.bucket_sizes : fields_.rebuilt_bucket_sizes;
    std::int64_t sum = 0;
    for (const Bytes bytes : list) {
      if (__builtin_add_overflow(sum, bytes.count(), &sum)) {
        fail(key, "the sizes add up to more than 2^63 - 1 bytes");
      }
    }
    if (!list.empty() && sum != fields_.total.count()) {
      fail(key, fmt::format("the sizes add up to {} bytes, but total_parameter_size_bytes is {}",
                            sum, fields_.total.count()));
    }
  }
}

}  // namespace

DdpLogFields read_ddp_log(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  return LogReader(document.root()).read();
}

}  // namespace ddpsim
