#include "ddpsim/formats/byte_sources.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

class Inflater {
 public:
  Inflater(ByteSource compressed, std::string file)
      : compressed_(std::move(compressed)), file_(std::move(file)), input_(kPiece) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(char* buffer, std::size_t capacity) {
    // zlib counts in unsigned int.
    const auto room = static_cast<uInt>(std::min<std::size_t>(capacity, std::size_t{1} << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = room;
    while (stream_.avail_out == room && !ended_) {
      if (stream_.avail_in == 0 && !fill()) {
        if (between_members_) {
          ended_ = true;
          break;
        }
        fail("the gzip data ends early", "The file was cut; copy it again");
      }
      if (between_members_ && !begin_member()) break;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        between_members_ = true;
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(fmt::format("the gzip data is damaged ({})",
                         stream_.msg != nullptr ? stream_.msg : "inflate failed"),
             "Copy the file again");
      }
    }
    inflated_ += room - stream_.avail_out;
    if (inflated_ > kSmallEnough && inflated_ / kMostRatio > consumed_) {
      fail(fmt::format("inflates to more than {} times its size, which no recording does",
                       kMostRatio),
           "Nothing of it was kept; give the file that was recorded");
    }
    return room - stream_.avail_out;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{128} << 10;
  /// The open traces inflate to 10 to 35 times their size. The limit of deflate itself is 1032.
  static constexpr std::uint64_t kMostRatio = 250;
  static constexpr std::uint64_t kSmallEnough = std::uint64_t{32} << 20;

  bool fill() {
    const std::size_t got = compressed_(input_.data(), input_.size());
    consumed_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  /// Begins another member, if one follows. Padding with zeros is allowed, as in gzip.
  bool begin_member() {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return true;  // checks again what the source still gives
    between_members_ = false;
    inflateReset(&stream_);
    return true;
  }

  [[noreturn]] void fail(std::string message, Hint hint) const {
    throw InputError({file_, fmt::format("byte {}", consumed_ - stream_.avail_in),
                      std::move(message), std::move(hint)});
  }

  ByteSource compressed_;
  std::string file_;
  std::vector<char> input_;
  z_stream stream_ = {};
  std::uint64_t consumed_ = 0;  ///< compressed bytes read
  std::uint64_t inflated_ = 0;
  bool between_members_ = false;
  bool ended_ = false;
};

}  // namespace

ByteSource file_source(const std::filesystem::path& path, Reading reading) {
  const auto refuse = [path](int reason) {
    throw InputError(
        {path.string(), "",
         "cannot be read: " + std::generic_category().message(reason == 0 ? EIO : reason), ""});
  };
  errno = 0;
  std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rb"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (!file) refuse(errno);
  if (reading == Reading::input) note_input(path);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // callers read large pieces
  return [file, refuse](char* buffer, std::size_t capacity) {
    errno = 0;
    const std::size_t got = std::fread(buffer, 1, capacity, file.get());
    if (got == 0 && std::ferror(file.get()) != 0) refuse(errno);
    return got;
  };
}

ByteSource watched(ByteSource file, const std::filesystem::path& path, Progress* progress) {
  constexpr int kMiB = 20;
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(path, none);
  if (progress == nullptr || none || size >> kMiB == 0) return file;
  return [file = std::move(file), size, progress, read = std::uintmax_t{0}](
             char* buffer, std::size_t capacity) mutable {
    const std::size_t got = file(buffer, capacity);
    const std::uintmax_t before = std::exchange(read, std::min(read + got, size));
    if (read >> kMiB > before >> kMiB) progress->go_on(read >> kMiB, size >> kMiB);
    return got;
  };
}

ByteSource memory_source(std::string_view bytes) {
  return [bytes](char* buffer, std::size_t capacity) mutable {
    const std::size_t count = bytes.copy(buffer, capacity);
    bytes.remove_prefix(count);
    return count;
  };
}

ByteSource gzip_source(ByteSource compressed, std::string file) {
  auto inflater = std::make_shared<Inflater>(std::move(compressed), std::move(file));
  return
      [inflater](char* buffer, std::size_t capacity) { return inflater->read(buffer, capacity); };
}

ByteSource with_head(std::string head, ByteSource rest) {
  struct State {
    std::string head;
    std::size_t given = 0;
    ByteSource rest;
  };
  auto state = std::make_shared<State>(State{std::move(head), 0, std::move(rest)});
  return [state](char* buffer, std::size_t capacity) -> std::size_t {
    const std::size_t left = state->head.size() - state->given;
    if (left == 0) return state->rest(buffer, capacity);
    const std::size_t count = std::min(left, capacity);
    std::memcpy(buffer, state->head.data() + state->given, count);
    state->given += count;
    return count;
  };
}

Inflated inflated(ByteSource bytes, const std::string& file) {
  std::string magic = read_up_to(bytes, 2);
  const bool gzip = is_gzip(magic);
  bytes = with_head(std::move(magic), std::move(bytes));
  return {.gzip = gzip, .source = gzip ? gzip_source(std::move(bytes), file) : std::move(bytes)};
}

std::string read_up_to(const ByteSource& source, std::size_t limit) {
  std::string text;
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  while (text.size() < limit) {
    const std::size_t before = text.size();
    text.resize(std::min(limit, before + kPiece));
    const std::size_t got = source(text.data() + before, text.size() - before);
    text.resize(before + got);
    if (got == 0) break;
  }
  return text;
}

bool is_gzip(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x1f' && head[1] == '\x8b';
}

}  // namespace ddpsim
