// For builds without libarchive, in place of tar_members.cpp: whoever gives an archive is told to unpack it.
#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include "ddpsim/formats/input_error.hpp"
#include "tar_members.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void refuse_archive(const std::string& file) {
  throw InputError({file, "", "is a tar archive, which this build of ddpsim does not read",
                    "Unpack it (tar xzf) and give the folder"});
}

}  // namespace

/// Nothing inflates here: of what is compressed its name must tell.
bool is_tar(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  constexpr std::size_t kMark = 257;
  std::array<char, kMark + 5> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const std::string name = path.filename().string();
  if (std::memcmp(head.data(), "\x1f\x8b", 2) == 0)
    return name.ends_with(".tar.gz") || name.ends_with(".tgz");
  return std::memcmp(head.data() + kMark, "ustar", 5) == 0;
}

std::vector<TarMember> read_tar(const std::filesystem::path& path) {
  refuse_archive(path.string());
}

std::vector<TarMember> read_tar(std::span<const unsigned char> /*bytes*/, const std::string& file) {
  refuse_archive(file);
}

}  // namespace ddpsim
