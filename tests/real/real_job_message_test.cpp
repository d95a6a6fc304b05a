// The single message of ranks that were started here.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "job_message.hpp"

using namespace ddpsim;

namespace {

void in_another_process(const std::function<void()>& act) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    act();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
}

}  // namespace

TEST_CASE("real message: empty if no rank left one") {
  CHECK(JobMessage::shared().text().empty());
}

TEST_CASE("real message: a child's own finding precedes a reported one") {
  JobMessage& message = JobMessage::shared();
  in_another_process([&] { message.leave(JobMessage::Cause::heard, "rank 1: rank 0 is gone"); });
  CHECK(message.text() == "rank 1: rank 0 is gone");
  in_another_process([&] { message.leave(JobMessage::Cause::own, "rank 0: out of memory"); });
  CHECK(message.text() == "rank 0: out of memory");
}

TEST_CASE("real message: the first of each kind counts, also with concurrent ranks") {
  JobMessage& message = JobMessage::shared();
  constexpr int kRanks = 8;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&message, rank] {
      message.leave(JobMessage::Cause::own, std::string(100, static_cast<char>('a' + rank)));
    });
  for (std::thread& rank : ranks) rank.join();
  const std::string first = message.text();
  REQUIRE(first.size() == 100);
  CHECK(first == std::string(100, first[0]));  // the whole message of one rank
  message.leave(JobMessage::Cause::own, "later");
  CHECK(message.text() == first);
}

TEST_CASE("real message: a long message is cut") {
  JobMessage& message = JobMessage::shared();
  message.leave(JobMessage::Cause::own, std::string(10'000, 'x'));
  CHECK(message.text() == std::string(2047, 'x'));
}

TEST_CASE("real message: jobs have separate messages") {
  JobMessage::shared().leave(JobMessage::Cause::own, "one");
  CHECK(JobMessage::shared().text().empty());
}
