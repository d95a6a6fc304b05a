// Small programs with two sides that must synchronise, for test_races.py. `race CASE` omits the
// synchronisation, and `order CASE` has it.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "cuda_kernels.h"

namespace {

constexpr std::int64_t kElements = 64;

void require(int status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA error %d\n", status);
  std::exit(1);
}

struct Gpu {
  cudaStream_t stream = nullptr;
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  void* memory = nullptr;
  float* on_host = nullptr;

  Gpu() {
    require(cudaSetDevice(0));
    for (cudaStream_t* one : {&stream, &other})
      require(cudaStreamCreateWithFlags(one, cudaStreamNonBlocking));
    require(cudaEventCreate(&event));
    require(cudaMalloc(&memory, kElements * sizeof(float)));
    void* pinned = nullptr;
    require(cudaMallocHost(&pinned, kElements * sizeof(float)));
    on_host = static_cast<float*>(pinned);
  }
  ~Gpu() {
    cudaFree(memory);
    cudaFreeHost(on_host);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
    cudaStreamDestroy(other);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void fill(cudaStream_t on) const {
    require(ddpsim_fill(on, memory, kElements, 1, DDPSIM_FLOAT32));
  }
  void copy(void* to, const void* from, cudaStream_t on) const {
    require(cudaMemcpyAsync(to, from, kElements * sizeof(float), cudaMemcpyDefault, on));
  }
};

void host_reads_what_a_stream_wrote(const Gpu& gpu, bool meet) {
  gpu.fill(gpu.stream);
  gpu.copy(gpu.on_host, gpu.memory, gpu.stream);
  require(cudaEventRecord(gpu.event, gpu.stream));
  if (meet) require(cudaEventSynchronize(gpu.event));
  if (gpu.on_host[0] < 0) std::puts("what is filled with 1 is not less than 0");
  require(cudaStreamSynchronize(gpu.stream));
}

void host_writes_what_a_stream_reads(const Gpu& gpu, bool meet) {
  gpu.on_host[0] = 1;
  gpu.copy(gpu.memory, gpu.on_host, gpu.stream);
  if (meet) require(cudaStreamSynchronize(gpu.stream));
  gpu.on_host[0] = 2;
  require(cudaStreamSynchronize(gpu.stream));
}

void stream_reads_what_another_wrote(const Gpu& gpu, bool meet) {
  gpu.fill(gpu.stream);
  require(cudaEventRecord(gpu.event, gpu.stream));
  if (meet) require(cudaStreamWaitEvent(gpu.other, gpu.event, 0));
  gpu.copy(gpu.on_host, gpu.memory, gpu.other);
  for (const cudaStream_t one : {gpu.stream, gpu.other}) require(cudaStreamSynchronize(one));
}

/// Both threads call CUDA, where one of them waits for the other. CUDA does not guarantee that
/// order.
void threads_count(const Gpu& gpu, bool meet) {
  int count = 0;
  std::mutex mutex;
  const auto counts = [&] {
    require(cudaSetDevice(0));
    require(cudaStreamSynchronize(gpu.stream));
    std::unique_lock lock(mutex, std::defer_lock);
    if (meet) lock.lock();
    ++count;
    require(cudaStreamSynchronize(gpu.stream));
  };
  std::thread one(counts);
  std::thread other(counts);
  one.join();
  other.join();
}

}  // namespace

int main(int count, char** words) {
  const std::map<std::string, std::function<void(const Gpu&, bool)>> cases = {
      {"host reads", host_reads_what_a_stream_wrote},
      {"host writes", host_writes_what_a_stream_reads},
      {"stream reads", stream_reads_what_another_wrote},
      {"threads count", threads_count}};
  if (count != 3 || !cases.contains(words[2])) {
    for (const auto& [name, _] : cases) std::puts(name.c_str());
    return count == 1 ? 0 : 2;
  }
  const Gpu gpu;
  cases.at(words[2])(gpu, words[1] == std::string("order"));
  return 0;
}
