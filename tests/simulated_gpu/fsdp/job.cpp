#include "job.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace fsdp {
namespace {

constexpr int kBadInput = 3;

[[noreturn]] void refuse(const std::string& path, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", path.c_str(), line, what.c_str());
  std::exit(kBadInput);
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Job read() {
    std::ifstream file(path_);
    if (!file) refuse(path_, 0, "cannot be read");
    for (std::string text; std::getline(file, text);) {
      ++line_;
      words_ = std::istringstream(text);
      std::string key;
      if (words_ >> key && key.front() != '#') take(key);
    }
    if (job_.group == 0) job_.group = job_.ranks;
    check();
    return std::move(job_);
  }

 private:
  template <typename T>
  T next(const char* what) {
    T value{};
    if (!(words_ >> value)) refuse(path_, line_, std::string("expected ") + what);
    return value;
  }
  std::int64_t nanoseconds() {
    constexpr double kNsPerUs = 1000;
    return std::llround(next<double>("a time in microseconds") * kNsPerUs);
  }
  template <typename T>
  T one_of(const std::map<std::string, T>& names) {
    const auto word = next<std::string>("a word");
    const auto found = names.find(word);
    if (found == names.end())
      refuse(path_, line_, "\"" + word + "\" is not a valid choice (job.hpp)");
    return found->second;
  }
  bool yes() { return next<int>("0 or 1") != 0; }

  void take(const std::string& key) {
    static const std::map<std::string, ddpsim_type> types{
        {"fp32", DDPSIM_FLOAT32}, {"bf16", DDPSIM_BFLOAT16}, {"fp16", DDPSIM_FLOAT16}};
    if (key == "scheme")
      job_.scheme = one_of<Scheme>({{"fsdp1", Scheme::fsdp1}, {"fsdp2", Scheme::fsdp2}});
    else if (key == "ranks")
      job_.ranks = next<int>("a number");
    else if (key == "group")
      job_.group = next<int>("a number");
    else if (key == "steps")
      job_.steps = next<int>("a number");
    else if (key == "micro_batches")
      job_.micro_batches = next<int>("a number");
    else if (key == "steps_ahead")
      job_.steps_ahead = next<int>("a number");
    else if (key == "hook_us")
      job_.hook_ns = nanoseconds();
    else if (key == "collective_us")
      job_.collective_ns = nanoseconds();
    else if (key == "wake_us")
      job_.wake_ns = nanoseconds();
    else if (key == "copy_us")
      job_.copy_ns = nanoseconds();
    else if (key == "cpu_offload")
      job_.cpu_offload = yes();
    else if (key == "add_ns_per_byte")
      job_.add_ns_per_byte = next<double>("a number");
    else if (key == "root_output_is_its_own")
      job_.root_output_is_its_own = yes();
    else if (key == "optimizer_us")
      job_.optimizer_ns = nanoseconds();
    else if (key == "no_sync")
      job_.no_sync = yes();
    else if (key == "param_dtype")
      job_.param_type = one_of(types);
    else if (key == "reduce_dtype")
      job_.reduce_type = one_of(types);
    else if (key == "strategy")
      job_.strategy = one_of<Strategy>({{"full_shard", Strategy::full_shard},
                                        {"shard_grad_op", Strategy::shard_grad_op},
                                        {"no_shard", Strategy::no_shard},
                                        {"hybrid_shard", Strategy::hybrid_shard},
                                        {"hybrid_shard_zero2", Strategy::hybrid_shard_zero2}});
    else if (key == "backward_prefetch")
      job_.backward_prefetch = one_of<Prefetch>(
          {{"none", Prefetch::none}, {"pre", Prefetch::pre}, {"post", Prefetch::post}});
    else if (key == "forward_prefetch")
      job_.forward_prefetch = yes();
    else if (key == "limit_all_gathers")
      job_.limit_all_gathers = yes();
    else if (key == "reshard_after_forward")
      job_.reshard_after_forward = yes();
    else if (key == "reshard_root")
      job_.reshard_root = yes();
    else if (key == "unit")
      take_unit();
    else if (key == "param")
      take_parameter();
    else
      refuse(path_, line_, "\"" + key + "\" is not a key of a job (job.hpp)");
  }
  void take_unit() {
    Segment segment;
    segment.name = next<std::string>("a name");
    segment.forward_ns = nanoseconds();
    job_.segments.push_back(std::move(segment));
  }
  void take_parameter() {
    if (job_.segments.empty()) refuse(path_, line_, "a parameter needs a unit before it");
    Parameter parameter{};
    parameter.elements = next<std::int64_t>("a number of elements");
    parameter.backward_ns = nanoseconds();
    if (parameter.elements < 1 || parameter.backward_ns < 2)
      refuse(path_, line_, "a parameter needs at least one element and 2 ns of backward");
    job_.segments.back().parameters.push_back(parameter);
  }
  void check() const {
    constexpr int kMostRanks = 16;
    if (job_.ranks < 1 || job_.ranks > kMostRanks || job_.group < 1 || job_.ranks % job_.group != 0)
      refuse(path_, line_, "ranks must be 1 to 16, and group must divide them");
    if (job_.steps < 1 || job_.micro_batches < 1 || job_.steps_ahead < 0)
      refuse(path_, line_, "steps and micro_batches must be at least 1");
    bool any = false;
    for (std::size_t i = 0; i < job_.segments.size(); ++i) {
      const Segment& segment = job_.segments[i];
      if (segment.parameters.empty()) refuse(path_, line_, segment.name + " has no parameters");
      if (segment.name == "root" && i != 0 && i + 1 != job_.segments.size())
        refuse(path_, line_, "a root part must be the first or the last unit");
      any = any || segment.name != "root";
    }
    if (!any) refuse(path_, line_, "expected a unit");
  }

  const std::string path_;
  int line_ = 0;
  std::istringstream words_;
  Job job_;
};

}  // namespace

Job read_job(const std::string& path) {
  return Reader(path).read();
}

}  // namespace fsdp
