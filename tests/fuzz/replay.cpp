// Runs a fuzz target on every file of a corpus folder: complete, cut short, and with single bytes
// changed. The inputs are the same in every run. A crash or an uncaught exception fails the test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 64;
constexpr std::size_t kChanges = 80;

std::size_t replay(std::vector<std::uint8_t> bytes) {
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  const std::size_t cut_step = std::max<std::size_t>(1, bytes.size() / kCuts);
  std::size_t runs = 1;
  for (std::size_t size = 0; size < bytes.size(); size += cut_step, ++runs) {
    const std::vector<std::uint8_t> head(bytes.begin(),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(size));
    LLVMFuzzerTestOneInput(head.data(), head.size());
  }
  const std::size_t change_step = std::max<std::size_t>(1, bytes.size() / kChanges);
  for (std::size_t at = 0; at < bytes.size(); at += change_step) {
    const std::uint8_t before = bytes[at];
    for (const char other : {'\0', '"', '-', '9', '}', '\xff'}) {
      bytes[at] = static_cast<std::uint8_t>(other);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      ++runs;
    }
    bytes[at] = before;
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::size_t runs = 0;
  for (const std::filesystem::path& file : files) {
    std::printf("%s\n", file.filename().c_str());
    // Flushed, so that the file that ends the run is known.
    std::fflush(stdout);
    std::ifstream stream(file, std::ios::binary);
    runs += replay({std::istreambuf_iterator<char>(stream), {}});
  }
  std::printf("%zu files, %zu inputs\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
