#include "opened_file.hpp"

#include <utility>

#include "byte_sources.hpp"

namespace ddpsim {

OpenedFile open_file(const std::filesystem::path& path, Progress* progress) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  OpenedFile opened;
  ByteSource source = watched(file_source(path), path, progress);
  std::string magic = read_up_to(source, 2);
  opened.gzip = is_gzip(magic);
  source = with_head(std::move(magic), std::move(source));
  if (opened.gzip) source = gzip_source(std::move(source), path.string());
  opened.head = read_up_to(source, kHead);
  opened.recognised = recognise(opened.head, opened.head.size() < kHead);
  opened.source = with_head(opened.head, std::move(source));
  return opened;
}

}  // namespace ddpsim
