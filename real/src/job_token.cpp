#include "job_token.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "messages.hpp"
#include "store.hpp"

namespace ddpsim {

std::string random_token() {
  constexpr std::size_t kBytes = 16;
  std::array<unsigned char, kBytes> bytes{};
  // Reads of so few bytes are complete or fail.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw JobEnded(std::string("no random bytes for the job's token: ") + std::strerror(errno));
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string token_from_environment() {
  const char* text = std::getenv("DDPSIM_JOB_TOKEN");
  const std::string token = text == nullptr ? "" : text;
  if (token.size() > kMostTokenBytes)
    throw JobEnded(fmt::format("DDPSIM_JOB_TOKEN has {} bytes; the most it may have is {}",
                               token.size(), kMostTokenBytes));
  return token;
}

bool same_token(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference = difference | static_cast<unsigned>(static_cast<unsigned char>(one[i]) ^
                                                    static_cast<unsigned char>(other[i]));
  return difference == 0;
}

}  // namespace ddpsim
