// The store at which ranks meet: which ranks it accepts, and that all ranks hear in time why a job
// ended.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <thread>

#include "job_state.hpp"
#include "patience.hpp"
#include "store.hpp"

using namespace ddpsim;
using ddpsim::testing::patient;
using namespace std::chrono_literals;

namespace {

const auto kTimeout = patient(30s);  // longer than any wait

struct Meeting {
  Listening listening = listen_on("127.0.0.1", 0);
  StoreServer server;
  explicit Meeting(int ranks, std::chrono::milliseconds timeout = kTimeout, std::string token = "")
      : server(listening, ranks, timeout, std::move(token)) {}

  /// The error that a rank gets with this greeting; empty if it is accepted.
  std::future<std::string> arrives(Greeting greeting) {
    return std::async(std::launch::async, [port = listening.port, greeting] {
      try {
        StoreClient client("127.0.0.1", port, greeting, kTimeout);
        client.barrier("all");
        client.leave();
        return std::string();
      } catch (const JobEnded& ended) {
        return std::string(ended.what());
      }
    });
  }
};

Greeting greeting(int rank, int ranks = 2) {
  return {.rank = rank, .ranks = ranks, .version = "1", .job = "a", .token = ""};
}

}  // namespace

TEST_CASE("real store: ranks meet, and one reads a value that another set") {
  Meeting meeting(2);
  auto other = std::async(std::launch::async, [&meeting] {
    StoreClient client("127.0.0.1", meeting.listening.port, greeting(1), kTimeout);
    std::string value = client.get("key");
    client.leave();
    return value;
  });
  StoreClient client("127.0.0.1", meeting.listening.port, greeting(0), kTimeout);
  client.set("key", std::string("a\0b", 3));
  CHECK(other.get() == std::string("a\0b", 3));
  CHECK(client.own_address() == "127.0.0.1");
  client.leave();
}

TEST_CASE("real store: an invalid number ends the job, not the process") {
  Meeting meeting(1);
  StoreClient client("127.0.0.1", meeting.listening.port, greeting(0, 1), kTimeout);
  client.set("number", "-12");
  CHECK(client.get_number("number") == -12);
  client.set("word", "12 ns");
  CHECK_THROWS_WITH_AS(client.get_number("word"), "rank 0 answered \"12 ns\", not a number",
                       JobEnded);
  client.leave();
}

TEST_CASE("real store: the others learn a missing rank's number within the time-out") {
  const auto timeout = patient(2s);
  Meeting meeting(3, timeout);
  auto one = meeting.arrives(greeting(0, 3));
  auto two = meeting.arrives(greeting(2, 3));
  const std::string why =
      fmt::format("after {} s 2 of 3 ranks were there; missing: 1", timeout.count());
  CHECK(one.get() == why);
  CHECK(two.get() == why);
}

TEST_CASE("real store: names only a few of thousands of missing ranks") {
  const JobState job(65'536, "");
  CHECK(job.who_came() ==
        "0 of 65536 ranks were there; missing: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
        "15 and 65520 more");
}

TEST_CASE(
    "real store: a different world size, version or job, or a repeated rank ends all with one "
    "reason") {
  // The second arrival is named, and either may be second.
  const auto both_hear = [](Greeting wrong, const std::string& reason) {
    Meeting meeting(2);
    auto right = meeting.arrives(greeting(0));
    auto other = meeting.arrives(std::move(wrong));
    const std::string heard = right.get();
    CHECK(heard.find(reason) != std::string::npos);
    CHECK(other.get() == heard);
  };
  both_hear(greeting(1, 3),
            "rank 1 was told of 3 ranks, but rank 0 of 2: every rank needs the same WORLD_SIZE");
  both_hear({.rank = 1, .ranks = 2, .version = "2", .job = "a"},
            "start the same program everywhere");
  both_hear({.rank = 1, .ranks = 2, .version = "1", .job = "b"},
            "was given another workload or other options than the others");
  both_hear(greeting(0), "two processes call themselves rank 0");
}

TEST_CASE("real store: a rank that disconnects ends the job for waiting ranks") {
  Meeting meeting(2);
  auto dies = std::async(std::launch::async, [&meeting] {
    StoreClient client("127.0.0.1", meeting.listening.port, greeting(1), kTimeout);
    client.get("here");
  });
  StoreClient client("127.0.0.1", meeting.listening.port, greeting(0), kTimeout);
  client.set("here", "");
  CHECK_THROWS_WITH_AS(client.get("never set"), "rank 1 is gone", JobEnded);
  CHECK(client.why_ended() == "rank 1 is gone");
}

TEST_CASE("real store: other ranks receive a rank's reason") {
  Meeting meeting(2);
  auto fails = std::async(std::launch::async, [&meeting] {
    StoreClient client("127.0.0.1", meeting.listening.port, greeting(1), kTimeout);
    client.get("here");
    client.end_job("rank 1: the disk is full");
  });
  StoreClient client("127.0.0.1", meeting.listening.port, greeting(0), kTimeout);
  client.set("here", "");
  CHECK_THROWS_WITH_AS(client.get("never set"), "rank 1: the disk is full", JobEnded);
}

TEST_CASE("real store: the server waits until all ranks know the end") {
  std::future<std::string> slow;
  {
    Meeting meeting(2);
    slow = std::async(std::launch::async, [port = meeting.listening.port]() -> std::string {
      try {
        StoreClient client("127.0.0.1", port, greeting(1), kTimeout);
        client.set("here", "");
        std::this_thread::sleep_for(200ms);
        return client.get("result");
      } catch (const JobEnded& ended) {
        return ended.what();
      }
    });
    StoreClient client("127.0.0.1", meeting.listening.port, greeting(0), kTimeout);
    client.get("here");
    client.set("result", "done");
    client.leave();
  }
  CHECK(slow.get() == "done");
}

TEST_CASE("real store: no server at rank 0's address") {
  // Holds a port without listening, so that no other program gets it.
  const int held = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  REQUIRE(bind(held, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(held, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  CHECK_THROWS_AS(StoreClient("127.0.0.1", ntohs(address.sin_port), greeting(1), 200ms), JobEnded);
  close(held);
}

TEST_CASE("real store: a moment without descriptors does not exclude later ranks") {
  Meeting meeting(1);
  const int early = socket(AF_INET, SOCK_STREAM, 0);
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  rlimit none = usual;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(meeting.listening.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(early, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  std::this_thread::sleep_for(100ms);  // accepting fails during this time
  setrlimit(RLIMIT_NOFILE, &usual);
  CHECK(meeting.arrives(greeting(0, 1)).get() == "");
  close(early);
}
