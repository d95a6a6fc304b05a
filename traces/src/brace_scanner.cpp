#include "brace_scanner.hpp"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ddpsim {
namespace {

struct Masks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t braces = 0;  ///< opening and closing
};

#if defined(__SSE2__)
Masks masks_of(const char* block) {
  Masks masks;
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i bytes =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + std::size_t{16} * part));
    const auto where = [&](char c) {
      const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
      return static_cast<std::uint64_t>(static_cast<unsigned>(found)) << (16 * part);
    };
    masks.quotes |= where('"');
    masks.backslashes |= where('\\');
    masks.braces |= where('{') | where('}');
  }
  return masks;
}
#else
Masks masks_of(const char* block) {
  Masks masks;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (block[i] == '"') masks.quotes |= bit;
    if (block[i] == '\\') masks.backslashes |= bit;
    if (block[i] == '{' || block[i] == '}') masks.braces |= bit;
  }
  return masks;
}
#endif

/// Bit i becomes the parity of bits 0..i.
std::uint64_t running_parity(std::uint64_t bits) {
  for (unsigned step = 1; step < 64; step *= 2) bits ^= bits << step;
  return bits;
}

std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

void BraceScanner::scan(const char* text, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; at += 64) {
    block(text, at, end - at);
    if (list_end_ != kNone || stray_ != kNone) return;
  }
}

void BraceScanner::shift(std::size_t offset) {
  if (last_end_ != kNone) last_end_ = last_end_ > offset ? last_end_ - offset : kNone;
  if (list_end_ != kNone) list_end_ = list_end_ >= offset ? list_end_ - offset : kNone;
}

void BraceScanner::block(const char* text, std::size_t at, std::size_t length) {
  const std::size_t size = length < 64 ? length : 64;
  const std::uint64_t inside_block = low_bits(size);
  Masks masks = masks_of(text + at);

  // Finds the escaped bytes. Backslashes are rare in traces, so they are processed one by one.
  std::uint64_t escaped = escaped_ ? 1 : 0;
  escaped_ = false;
  for (std::uint64_t rest = masks.backslashes & inside_block; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    if ((escaped >> i & 1) != 0) continue;
    if (static_cast<std::size_t>(i) + 1 < size) {
      escaped |= std::uint64_t{1} << (i + 1);
    } else {
      escaped_ = true;
    }
  }

  const std::uint64_t quotes = masks.quotes & ~escaped & inside_block;
  std::uint64_t strings = running_parity(quotes);
  if (in_string_) strings = ~strings;
  in_string_ = (strings >> (size - 1) & 1) != 0;

  // Start of the bytes between events, while the depth is 0.
  std::size_t gap = 0;
  for (std::uint64_t rest = masks.braces & ~strings & inside_block; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    if (depth_ == 0 && between(text, at + gap, at + i)) return;
    if (text[at + i] == '{') {
      if (depth_ == 0) {
        if (after_event_) {
          stray_ = at + i;
          return;
        }
        any_event_ = true;
      }
      ++depth_;
    } else {
      if (depth_ == 0) {
        stray_ = at + i;
        return;
      }
      if (--depth_ == 0) {
        last_end_ = at + i + 1;
        after_event_ = true;
        gap = i + 1;
      }
    }
  }
  if (depth_ == 0) between(text, at + gap, at + size);
}

bool BraceScanner::between(const char* text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == ',' && after_event_) {
      after_event_ = false;
      continue;
    }
    if (c == ']' && (after_event_ || !any_event_)) {
      list_end_ = i;
      return true;
    }
    stray_ = i;
    return true;
  }
  return false;
}

}  // namespace ddpsim
