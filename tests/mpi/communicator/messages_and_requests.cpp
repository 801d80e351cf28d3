// ranks: 1 2 3 4
#define BOOST_TEST_MODULE messages_and_requests
#include "support/kokkos_fixture.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace trireme;

namespace {
Communicator const& world() { return test::environment().world(); }
std::size_t next() { return (world().rank() + 1) % world().size(); }
std::size_t previous() { return (world().rank() + world().size() - 1) % world().size(); }
float size_as_float() { return static_cast<float>(world().size()); }
}  // namespace

BOOST_AUTO_TEST_CASE(values_go_round_a_ring) {
  std::vector<int> const mine(5, static_cast<int>(world().rank()));
  std::vector<int> theirs(5, -1);
  Communicator const chopped(world().get(), 2);
  for (Communicator const* comm : {&world(), &chopped}) {
    Request received = comm->ireceive(theirs, previous(), 3);
    Request const sent = comm->isend(mine, next(), 3);
    received.wait();
    BOOST_TEST(!received.pending());
    BOOST_TEST(theirs.back() == static_cast<int>(previous()));
    theirs.assign(5, -1);
  }
}

BOOST_AUTO_TEST_CASE(blocking_messages_arrive_whole_or_are_an_error) {
  std::vector<double> const mine{1.0, 2.0, 3.0};
  std::vector<double> theirs(3);
  auto const exchange = [&](std::vector<double>& into) {
    Request const sent = world().isend(mine, next());
    world().receive(into, previous());
  };
  exchange(theirs);
  BOOST_TEST(theirs[2] == 3.0);
  std::vector<double> longer(4);
  BOOST_CHECK_THROW(exchange(longer), CommunicationError);
  world().barrier();
  std::vector<double> shorter(2);
  BOOST_CHECK_THROW(exchange(shorter), CommunicationError);
  world().barrier();
}

BOOST_AUTO_TEST_CASE(a_message_to_a_rank_that_is_not_there_is_an_error) {
  std::vector<double> const values(1);
  auto const names_the_call = [](CommunicationError const& e) {
    return std::string(e.what()).starts_with(fmt::format("rank {}: MPI_Isend failed: ", world().rank()));
  };
  BOOST_CHECK_EXCEPTION(world().send(values, 1000), CommunicationError, names_the_call);
}

BOOST_AUTO_TEST_CASE(discarded_messages_are_those_sent_before) {
  struct Pair {
    double first;
    int second;
  };
  std::vector<double> const small(3, 1.0), large(1 << 20, 2.0), last(3, 3.0);
  std::vector<Pair> const pairs(2);
  Communicator const chopped(world().get(), 2);
  for (int time = 0; time < 2; ++time) {
    std::vector<Request> sent;
    for (std::size_t i = 0; i < 3; ++i) sent.push_back(world().isend(small, next()));
    sent.push_back(world().isend(large, previous()));
    sent.push_back(world().isend(pairs, next(), 5));
    sent.push_back(chopped.isend(small, next()));
    world().discard_messages<double>();
    world().discard_messages<Pair>(5);
    chopped.discard_messages<double>();
    for (Request& request : sent) request.wait();
    std::vector<double> received(3);
    for (Communicator const* comm : {&world(), &chopped}) {
      Request const now = comm->isend(last, next());
      comm->receive(received, previous());
      BOOST_TEST(received[2] == 3.0);
      received.assign(3, 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_started_sum_is_complete_after_waiting) {
  std::vector<float> values(10, 1.0f);
  Request request = world().iallreduce_sum(values.data(), values.size());
  request.wait();
  BOOST_TEST(!request.pending());
  BOOST_TEST(request.test());
  BOOST_TEST(values[9] == size_as_float());
}

BOOST_AUTO_TEST_CASE(a_request_is_complete_when_its_owner_is_gone) {
  std::vector<float> values(10, 1.0f);
  {
    Request const request = world().iallreduce_sum(values.data(), values.size());
  }
  BOOST_TEST(values[0] == size_as_float());
}

BOOST_AUTO_TEST_CASE(an_error_on_all_ranks_completes_what_they_started) {
  std::vector<float> values(10, 1.0f);
  try {
    Request const request = world().iallreduce_sum(values.data(), values.size());
    throw std::runtime_error("stop");
  } catch (std::runtime_error const&) {
    BOOST_TEST(values[0] == size_as_float());
  }
}

BOOST_AUTO_TEST_CASE(a_moved_request_is_waited_for_once) {
  std::vector<float> a(3, 1.0f);
  std::vector<float> b(3, 2.0f);
  Request request = world().iallreduce_sum(a.data(), a.size());
  Request other = std::move(request);
  BOOST_TEST(!request.pending());
  other = world().iallreduce_sum(b.data(), b.size());  // waits for a
  BOOST_TEST(a[0] == size_as_float());
  other.wait();
  BOOST_TEST(b[0] == 2 * size_as_float());
}

BOOST_AUTO_TEST_CASE(several_buckets_progress_together) {
  std::vector<std::vector<double>> buckets(4, std::vector<double>(5, 1.0));
  Requests requests;
  for (auto& bucket : buckets) requests.push(world().iallreduce_sum(bucket.data(), bucket.size()));
  BOOST_TEST(requests.size() == 4);
  while (!requests.progress()) {
  }
  for (auto const& bucket : buckets) BOOST_TEST(bucket[4] == static_cast<double>(world().size()));
  requests.wait_all();
  BOOST_TEST(requests.size() == 0);
  BOOST_TEST(requests.progress());
}
