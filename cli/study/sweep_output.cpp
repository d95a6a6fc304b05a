#include "sweep_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/sweep_report.hpp"

namespace ddpsim {
namespace {

constexpr int kReadable = 0666;  // before the umask

/// Returns whether a line has an error, which its last key tells.
bool has_failed(std::string_view line) {
  return !line.ends_with("\"error\": null}\n");
}

[[noreturn]] void refuse(const std::string& file, std::string message) {
  throw InputError({.file = file,
                    .where = "",
                    .message = std::move(message),
                    .hint = "Move it away, or name another file"});
}

}  // namespace

AppendedFile::AppendedFile(const std::optional<std::string>& file)
    : name_(file.value_or("standard output")) {
  const int named = file ? descriptor_named(*file) : STDOUT_FILENO;
  opened_ = named >= 0
                ? ::dup(named)
                : ::open(behind_links(name_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadable);
  if (opened_ < 0) fail();
  struct stat status {};
  if (::fstat(opened_, &status) != 0) fail();
  regular_ = named < 0 && S_ISREG(status.st_mode);
}

AppendedFile::~AppendedFile() {
  if (opened_ >= 0) ::close(opened_);
}

void AppendedFile::fail() const {
  fail_to_write(name_, errno);
}

void AppendedFile::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t put = ::write(opened_, text.data(), text.size());
    if (put < 0 && errno != EINTR) fail();
    if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  }
}

std::string AppendedFile::take_over() const {
  // A pipe or a terminal has no earlier lines.
  if (!regular_) return "";
  if (::flock(opened_, LOCK_EX | LOCK_NB) != 0) refuse(name_, "is being written by another sweep");
  constexpr std::size_t kPiece = 1 << 20;
  std::string content;
  for (;;) {
    const std::size_t before = content.size();
    content.resize(before + kPiece);
    const ssize_t got = ::read(opened_, content.data() + before, kPiece);
    content.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !begins_as_sweep(content)) return content;
    if (static_cast<std::int64_t>(content.size()) > kMostOfASweep)
      refuse(name_,
             fmt::format("has more than {} bytes, which is too much for a sweep", kMostOfASweep));
  }
}

void AppendedFile::cut(std::size_t bytes) const {
  if (!regular_) return;
  const auto end = static_cast<off_t>(bytes);
  if (::ftruncate(opened_, end) != 0 || ::lseek(opened_, end, SEEK_SET) != end) fail();
}

SweepOutput::SweepOutput(const SweepHeader& header, const std::optional<std::string>& file,
                         const std::optional<std::string>& csv, SweepCurves* curves)
    : columns_(sweep_table(header.grid)), curves_(curves) {
  lines_ = std::make_unique<AppendedFile>(file);
  const std::string first = sweep_header_line(header);
  const std::string content = file ? lines_->take_over() : "";
  const std::optional<SweepFile> before = read_sweep(content, file.value_or(""));
  if (before && before->header != header)
    refuse(*file,
           before->header.same_sweep(header)
               ? "contains another shard of this sweep"
               : "is the sweep of another study, or was written by another version of ddpsim");
  if (!before && !first.starts_with(content)) refuse(*file, "already exists and is not a sweep");
  if (csv) {
    table_ = std::make_unique<OutputFile>(*csv);
    table_->write(columns_.header());
  }
  if (!before) {
    if (file) lines_->cut(0);
    lines_->write(first);
    return;
  }
  lines_->cut(before->whole);
  for (const SweepLine& line : before->lines) {
    derive(line.text);
    failed_ += line.failed ? 1 : 0;
  }
  next_ = kept_ = before->lines.size();
}

SweepOutput::~SweepOutput() = default;

void SweepOutput::finish() {
  if (table_) table_->finish();
}

void SweepOutput::derive(std::string_view line) const {
  if (table_) table_->write(columns_.row(line));
  if (curves_ != nullptr) curves_->add(line);
}

void SweepOutput::put(std::size_t k, std::string line) {
  early_.emplace(k, std::move(line));
  for (auto first = early_.begin(); first != early_.end() && first->first == next_;
       first = early_.erase(first)) {
    const std::string& text = first->second;
    lines_->write(text);
    derive(text);
    failed_ += has_failed(text) ? 1 : 0;
    ++next_;
  }
}

}  // namespace ddpsim
