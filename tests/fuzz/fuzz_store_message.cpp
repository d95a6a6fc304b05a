// Any bytes at the port of the store of ddpsim-real, in pieces of any size, give messages or a
// refusal. The result does not depend on the pieces, and memory never exceeds the announced size.
// The first byte selects the speaker, the second the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "messages.hpp"

namespace {

using ddpsim::Message;
using ddpsim::MessageDecoder;

/// The messages before the first refusal.
std::vector<Message> messages_in(std::string_view bytes, ddpsim::Speaker speaker,
                                 std::size_t piece) {
  std::vector<Message> messages;
  MessageDecoder decoder(speaker);
  while (!bytes.empty() && decoder.state() == MessageDecoder::State::incomplete) {
    const std::size_t size = std::min({bytes.size(), piece, decoder.wants()});
    if (size == 0) std::abort();  // incomplete must want more bytes
    decoder.take(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (decoder.state() == MessageDecoder::State::complete)
      messages.push_back(decoder.take_message());
  }
  return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto speaker = static_cast<ddpsim::Speaker>(data[0] % 3);
  const std::size_t piece = data[1] + std::size_t{1};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<Message> messages = messages_in(bytes, speaker, piece);
  if (messages != messages_in(bytes, speaker, bytes.size())) std::abort();
  std::string again;
  for (const Message& message : messages) again += ddpsim::encoded(message);
  // Encoding the messages again gives the same bytes.
  if (!bytes.starts_with(again)) std::abort();
  return 0;
}
