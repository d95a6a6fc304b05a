#include "kernels.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "cuda_kernel_bodies.hpp"
#include "fsdp/kernel_bodies.hpp"

namespace simulated_gpu {
namespace {

using namespace ddpsim_kernels;

constexpr Lane kAll{0, 1};

/// Waiting takes no real time here, because the clock is moved.
struct SimulatedClock {
  std::int64_t time = 0;
  std::int64_t now() { return time; }
  void wait_until(std::int64_t instant) { time = instant; }
};
/// Argument lists of kernel signatures.
enum class Signature { spin, work, scale, add, set, cast, compute, read_too, copy_out, chunk_cat };

struct Kernel {
  std::string_view name;  ///< demangled, without parameters
  Signature signature;
  int from_size;
  int to_size;
  std::int64_t (*run)(const KernelCall& call);
};

std::int64_t run_spin(const KernelCall& call) {
  SimulatedClock clock;
  spin_body(clock, call.elements);
  return clock.time;
}

std::int64_t run_work(const KernelCall& call) {
  constexpr std::int64_t kRoundNs = 50;
  const auto rounds = static_cast<std::int64_t>(call.value);
  constexpr std::int64_t kEnough = 1 << 10;  // its output is not read
  work_body(kAll, std::min(rounds, kEnough), reinterpret_cast<float*>(call.to), call.elements);
  return rounds * kRoundNs;
}

template <typename T>
std::int64_t run_scale(const KernelCall& call) {
  scale_body(kAll, reinterpret_cast<const T*>(call.from), reinterpret_cast<T*>(call.to),
             call.elements, call.value);
  return 0;
}

template <typename T>
std::int64_t run_add(const KernelCall& call) {
  add_body(kAll, reinterpret_cast<const T*>(call.from), reinterpret_cast<T*>(call.to),
           call.elements);
  return 0;
}

template <typename T>
std::int64_t run_set(const KernelCall& call) {
  set_body(kAll, reinterpret_cast<T*>(call.to), call.elements, call.value);
  return 0;
}

template <typename From, typename To>
std::int64_t run_cast(const KernelCall& call) {
  cast_body(kAll, reinterpret_cast<const From*>(call.from), reinterpret_cast<To*>(call.to),
            call.elements);
  return 0;
}

template <typename T>
std::int64_t run_compute(const KernelCall& call) {
  SimulatedClock clock;
  fsdp_kernels::compute_body(kAll, clock, call.nanoseconds, reinterpret_cast<const T*>(call.from),
                             reinterpret_cast<T*>(call.to), call.elements, call.value);
  return clock.time;
}

template <typename T>
std::int64_t run_read_too(const KernelCall& call) {
  constexpr std::int64_t kNoTime = 1;
  fsdp_kernels::read_too_body(kAll, reinterpret_cast<const T*>(call.from),
                              reinterpret_cast<T*>(call.to), call.elements);
  return kNoTime;
}

template <typename T>
std::int64_t run_copy_out(const KernelCall& call) {
  fsdp_kernels::copy_out_body(kAll, reinterpret_cast<const T*>(call.from),
                              reinterpret_cast<T*>(call.to), call.places, call.count,
                              call.elements / call.ranks, call.ranks);
  return 0;
}

template <typename From, typename To>
std::int64_t run_chunk_cat(const KernelCall& call) {
  fsdp_kernels::chunk_cat_body(kAll, reinterpret_cast<const From*>(call.from),
                               reinterpret_cast<To*>(call.to), call.places, call.count,
                               call.elements / call.ranks, call.ranks);
  return 0;
}

#define SIMULATED_GPU_OF_TYPE(name, T, size) \
  { "void fsdp_kernels::" #name "<" #T ">", Signature::name, size, size, run_##name<T> }
#define SIMULATED_GPU_BETWEEN(From, from, To, to)                                      \
  {"void fsdp_kernels::chunk_cat<" #From ", " #To ">", Signature::chunk_cat, from, to, \
   run_chunk_cat<From, To>},                                                           \
  {                                                                                    \
    "void fsdp_kernels::convert<" #From ", " #To ">", Signature::cast, from, to,       \
        run_cast<From, To>                                                             \
  }

constexpr Kernel kKernels[] = {
    {"ddpsim_kernels::spin", Signature::spin, 0, 0, run_spin},
    {"ddpsim_kernels::work", Signature::work, 0, 0, run_work},
    {"void ddpsim_kernels::scale<float>", Signature::scale, 4, 4, run_scale<float>},
    {"void ddpsim_kernels::scale<double>", Signature::scale, 8, 8, run_scale<double>},
    {"void ddpsim_kernels::scale<__half>", Signature::scale, 2, 2, run_scale<__half>},
    {"void ddpsim_kernels::scale<__nv_bfloat16>", Signature::scale, 2, 2, run_scale<__nv_bfloat16>},
    {"void ddpsim_kernels::add<float>", Signature::add, 4, 4, run_add<float>},
    {"void ddpsim_kernels::add<double>", Signature::add, 8, 8, run_add<double>},
    {"void ddpsim_kernels::add<__half>", Signature::add, 2, 2, run_add<__half>},
    {"void ddpsim_kernels::add<__nv_bfloat16>", Signature::add, 2, 2, run_add<__nv_bfloat16>},
    {"void ddpsim_kernels::set<float>", Signature::set, 0, 4, run_set<float>},
    {"void ddpsim_kernels::set<double>", Signature::set, 0, 8, run_set<double>},
    {"void ddpsim_kernels::set<__half>", Signature::set, 0, 2, run_set<__half>},
    {"void ddpsim_kernels::set<__nv_bfloat16>", Signature::set, 0, 2, run_set<__nv_bfloat16>},
    {"void ddpsim_kernels::cast<float, __half>", Signature::cast, 4, 2, run_cast<float, __half>},
    {"void ddpsim_kernels::cast<__half, float>", Signature::cast, 2, 4, run_cast<__half, float>},
    {"void ddpsim_kernels::cast<float, __nv_bfloat16>", Signature::cast, 4, 2,
     run_cast<float, __nv_bfloat16>},
    {"void ddpsim_kernels::cast<__nv_bfloat16, float>", Signature::cast, 2, 4,
     run_cast<__nv_bfloat16, float>},
    // Kernels of the FSDP driver (fsdp/kernels.cu).
    SIMULATED_GPU_OF_TYPE(compute, float, 4),
    SIMULATED_GPU_OF_TYPE(compute, __half, 2),
    SIMULATED_GPU_OF_TYPE(compute, __nv_bfloat16, 2),
    SIMULATED_GPU_OF_TYPE(read_too, float, 4),
    SIMULATED_GPU_OF_TYPE(read_too, __half, 2),
    SIMULATED_GPU_OF_TYPE(read_too, __nv_bfloat16, 2),
    SIMULATED_GPU_OF_TYPE(copy_out, float, 4),
    SIMULATED_GPU_OF_TYPE(copy_out, __half, 2),
    SIMULATED_GPU_OF_TYPE(copy_out, __nv_bfloat16, 2),
    SIMULATED_GPU_BETWEEN(float, 4, float, 4),
    SIMULATED_GPU_BETWEEN(float, 4, __half, 2),
    SIMULATED_GPU_BETWEEN(float, 4, __nv_bfloat16, 2),
    SIMULATED_GPU_BETWEEN(__half, 2, float, 4),
    SIMULATED_GPU_BETWEEN(__half, 2, __half, 2),
    SIMULATED_GPU_BETWEEN(__half, 2, __nv_bfloat16, 2),
    SIMULATED_GPU_BETWEEN(__nv_bfloat16, 2, float, 4),
    SIMULATED_GPU_BETWEEN(__nv_bfloat16, 2, __half, 2),
    SIMULATED_GPU_BETWEEN(__nv_bfloat16, 2, __nv_bfloat16, 2),
};
#undef SIMULATED_GPU_OF_TYPE
#undef SIMULATED_GPU_BETWEEN

template <typename T>
T argument(void** arguments, int index) {
  return *static_cast<T*>(arguments[index]);
}

}  // namespace

std::optional<int> kernel_named(const char* mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  const std::string demangled = text != nullptr ? text : mangled;
  std::free(text);
  const std::string_view name = std::string_view(demangled).substr(0, demangled.find('('));
  for (std::size_t i = 0; i < std::size(kKernels); ++i)
    if (kKernels[i].name == name) return static_cast<int>(i);
  return std::nullopt;
}

Operation kernel_operation(int kernel, void** arguments) {
  const Kernel& known = kKernels[kernel];
  Operation operation{};
  operation.kind = Kind::kernel;
  KernelCall& call = operation.call;
  call.kernel = kernel;
  switch (known.signature) {
    case Signature::spin:
      call.elements = argument<std::int64_t>(arguments, 0);
      break;
    case Signature::work:
      call.value = static_cast<double>(argument<std::int64_t>(arguments, 0));
      call.to = argument<std::byte*>(arguments, 1);
      call.elements = argument<std::int64_t>(arguments, 2);
      break;
    case Signature::scale:
      call.value = argument<double>(arguments, 3);
      [[fallthrough]];
    case Signature::add:
    case Signature::cast:
      call.from = argument<const std::byte*>(arguments, 0);
      call.to = argument<std::byte*>(arguments, 1);
      call.elements = argument<std::int64_t>(arguments, 2);
      break;
    case Signature::set:
      call.to = argument<std::byte*>(arguments, 0);
      call.elements = argument<std::int64_t>(arguments, 1);
      call.value = argument<double>(arguments, 2);
      break;
    case Signature::compute:
      call.nanoseconds = argument<std::int64_t>(arguments, 0);
      call.from = argument<const std::byte*>(arguments, 1);
      call.to = argument<std::byte*>(arguments, 2);
      call.elements = argument<std::int64_t>(arguments, 3);
      call.value = argument<double>(arguments, 4);
      break;
    case Signature::read_too:
      call.from = argument<const std::byte*>(arguments, 0);
      call.to = argument<std::byte*>(arguments, 1);
      call.elements = argument<std::int64_t>(arguments, 2);
      break;
    case Signature::copy_out:
    case Signature::chunk_cat:
      call.from = argument<const std::byte*>(arguments, 0);
      call.to = argument<std::byte*>(arguments, 1);
      call.places = argument<const fsdp_kernels::ParameterPlace*>(arguments, 2);
      call.count = argument<std::int64_t>(arguments, 3);
      call.ranks = argument<std::int64_t>(arguments, 5);
      call.elements = argument<std::int64_t>(arguments, 4) * call.ranks;
      break;
  }
  std::int64_t read = call.elements;
  if (known.signature == Signature::chunk_cat) read = argument<std::int64_t>(arguments, 6);
  operation.reads = {const_cast<std::byte*>(call.from), read * known.from_size};
  operation.writes = {call.to, call.elements * known.to_size};
  operation.slowed_by_collectives = known.signature == Signature::work;
  operation.moved_bytes = operation.reads.bytes + operation.writes.bytes;
  if (known.signature == Signature::add) operation.moved_bytes += operation.writes.bytes;
  return operation;
}

std::int64_t run_kernel(const KernelCall& call) {
  return kKernels[call.kernel].run(call);
}

}  // namespace simulated_gpu
