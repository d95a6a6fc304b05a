#include "ddpsim/formats/file_identity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <system_error>

#include "ddpsim/formats/output_file.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

std::optional<FileIdentity> identity_of_status(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{.device = static_cast<std::uint64_t>(status.st_dev),
                      .inode = static_cast<std::uint64_t>(status.st_ino),
                      .name = {}};
}

/// A link that the kernel would refuse to follow (protected_symlinks).
bool is_planted(const fs::path& link, const struct stat& status) {
  struct stat folder {};
  if (::stat(folder_of(link).c_str(), &folder) != 0) return false;
  const bool anyone_writes = (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) != 0;
  return anyone_writes && status.st_uid != ::geteuid() && status.st_uid != folder.st_uid;
}

/// Several threads read files, also in functions that do not know about outputs.
struct Inputs {
  std::mutex lock;
  std::map<FileIdentity, std::string> names;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // same as the kernel's limit
  const std::string given = path.string();
  for (int followed = 0;; ++followed) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
    if (followed == kMostLinks)
      throw OutputError(given, "cannot be written: its symbolic links form a circle");
    if (is_planted(path, status))
      throw OutputError(given,
                        "cannot be written: another user has put this symbolic link into a folder "
                        "that everyone may write to");
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) return path;
    path = folder_of(path) / next;  // an absolute path replaces the folder
  }
}

std::optional<FileIdentity> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return identity_of_status(status);
  const fs::path place = behind_links(path);
  if (::stat(folder_of(place).c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{.device = static_cast<std::uint64_t>(status.st_dev),
                      .inode = static_cast<std::uint64_t>(status.st_ino),
                      .name = place.filename().string()};
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return identity_of_status(status);
}

void note_input(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  const std::optional<FileIdentity> file = identity_of_status(status);
  if (!file) return;
  Inputs& all = inputs();
  const std::scoped_lock lock(all.lock);
  all.names.try_emplace(*file, path.string());
}

std::optional<std::string> input_named(const FileIdentity& file) {
  Inputs& all = inputs();
  const std::scoped_lock lock(all.lock);
  const auto place = all.names.find(file);
  return place == all.names.end() ? std::nullopt : std::optional(place->second);
}

}  // namespace ddpsim
