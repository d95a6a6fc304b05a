#include "opened_file.hpp"

#include <utility>

#include "ddpsim/formats/byte_sources.hpp"

namespace ddpsim {
namespace {

OpenedFile open_source(ByteSource source, const std::string& file) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  OpenedFile opened;
  Inflated bytes = inflated(std::move(source), file);
  opened.gzip = bytes.gzip;
  opened.head = read_up_to(bytes.source, kHead);
  opened.recognised = recognise(opened.head, opened.head.size() < kHead);
  opened.source = with_head(opened.head, std::move(bytes.source));
  return opened;
}

}  // namespace

OpenedFile open_file(const std::filesystem::path& path, Progress* progress) {
  return open_source(watched(file_source(path), path, progress), path.string());
}

OpenedFile glance_at(const std::filesystem::path& path) {
  return open_source(file_source(path, Reading::glance), path.string());
}

OpenedFile open_bytes(std::string_view bytes, const std::string& file) {
  return open_source(memory_source(bytes), file);
}

}  // namespace ddpsim
