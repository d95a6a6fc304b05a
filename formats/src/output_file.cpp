#include "ddpsim/formats/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/number.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPermissions = 07777;

/// A short name, whatever the target's name is. Nobody can know it before the file exists.
std::string random_name() {
  std::random_device source;
  const std::uint64_t high = source();
  return fmt::format(".ddpsim-{:016x}", high << 32U | source());
}

}  // namespace

int descriptor_named(const fs::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"})
    if (name.starts_with(folder))
      return parse_number<int>(std::string_view(name).substr(folder.size())).value_or(-1);
  return -1;
}

void fail_to_write(const std::string& file, int error_number) {
  throw OutputError(
      file, fmt::format("cannot be written: {}",
                        std::generic_category().message(error_number == 0 ? EIO : error_number)));
}

void require_regular_place(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw OutputError(path.string(),
                    fmt::format("cannot be written: {} is in its place",
                                S_ISLNK(status.st_mode)   ? "a symbolic link"
                                : S_ISDIR(status.st_mode) ? "a folder"
                                                          : "a device or a pipe"),
                    "Remove it, or name another folder");
}

void OutputFile::fail(int reason) const {
  fail_to_write(shown_.string(), reason);
}

OutputFile::OutputFile(fs::path path, Named named) : shown_(std::move(path)) {
  if (named == Named::folder) {
    require_regular_place(shown_);
    target_ = shown_;
  } else if (const int descriptor = descriptor_named(shown_); descriptor >= 0) {
    file_ = ::dup(descriptor);
    if (file_ < 0) fail(errno);
    return;
  } else {
    target_ = behind_links(shown_);
  }
  struct stat status {};
  const bool there = (named == Named::folder ? ::lstat(target_.c_str(), &status)
                                             : ::stat(target_.c_str(), &status)) == 0;
  if (there && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (there && S_ISLNK(status.st_mode)) fail(ELOOP);
  if (there && !S_ISREG(status.st_mode)) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file_ < 0) fail(errno);
    return;
  }
  if (there && ::access(target_.c_str(), W_OK) != 0) fail(errno);
  constexpr mode_t kAsUmaskAllows = 0666;
  // Permissions until the file gets those of the file it replaces.
  constexpr mode_t kNobodyElse = 0600;
  open_beside(there ? kNobodyElse : kAsUmaskAllows);
  if (!there) return;
  // If the owner cannot be kept, this is not an error: the folder belongs to the user.
  if (::fchown(file_, status.st_uid, status.st_gid) != 0) errno = 0;
  if (::fchmod(file_, status.st_mode & kPermissions) != 0) {
    const int reason = errno;
    ::close(file_);
    ::unlink(beside_.c_str());
    fail(reason);
  }
}

void OutputFile::open_beside(unsigned permissions) {
  constexpr int kTries = 100;
  const fs::path folder = folder_of(target_);
  for (int tried = 0; tried < kTries; ++tried) {
    const fs::path place = folder / random_name();
    file_ =
        ::open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions);
    if (file_ >= 0) {
      beside_ = place;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void OutputFile::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(file_, content.data(), content.size());
    if (put < 0 && errno != EINTR) fail(errno);
    if (put > 0) content.remove_prefix(static_cast<std::size_t>(put));
  }
}

void OutputFile::finish() {
  // A full disk may be reported only here.
  if (::close(std::exchange(file_, -1)) != 0 && errno != EINTR) fail(errno);
  if (beside_.empty()) return;
  if (::rename(beside_.c_str(), target_.c_str()) != 0) fail(errno);
  beside_.clear();
}

void write_into_folder(const fs::path& folder, const std::string& name, std::string_view content) {
  OutputFile file(folder / name, Named::folder);
  file.write(content);
  file.finish();
}

}  // namespace ddpsim
