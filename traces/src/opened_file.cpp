#include "opened_file.hpp"

#include <utility>

#include "byte_sources.hpp"

namespace ddpsim {
namespace {

OpenedFile open_source(ByteSource source, const std::string& file) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  OpenedFile opened;
  std::string magic = read_up_to(source, 2);
  opened.gzip = is_gzip(magic);
  source = with_head(std::move(magic), std::move(source));
  if (opened.gzip) source = gzip_source(std::move(source), file);
  opened.head = read_up_to(source, kHead);
  opened.recognised = recognise(opened.head, opened.head.size() < kHead);
  opened.source = with_head(opened.head, std::move(source));
  return opened;
}

}  // namespace

OpenedFile open_file(const std::filesystem::path& path, Progress* progress) {
  return open_source(watched(file_source(path), path, progress), path.string());
}

OpenedFile open_bytes(std::string_view bytes, const std::string& file) {
  ByteSource source = [bytes](char* buffer, std::size_t capacity) mutable {
    const std::size_t count = bytes.copy(buffer, capacity);
    bytes.remove_prefix(count);
    return count;
  };
  return open_source(std::move(source), file);
}

}  // namespace ddpsim
