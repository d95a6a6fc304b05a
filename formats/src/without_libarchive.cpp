// Replaces tar_members.cpp in builds without libarchive. It asks users who give an archive to
// unpack it.
#include "ddpsim/formats/input_error.hpp"
#include "tar_members.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void refuse_archive(const std::string& file) {
  throw InputError({file, "", "is a tar archive, which this build of ddpsim does not read",
                    "Unpack it (tar xzf) and give the folder"});
}

}  // namespace

std::vector<TarMember> read_tar(const std::filesystem::path& path) {
  refuse_archive(path.string());
}

std::vector<TarMember> read_tar(std::span<const unsigned char> /*bytes*/, const std::string& file) {
  refuse_archive(file);
}

}  // namespace ddpsim
