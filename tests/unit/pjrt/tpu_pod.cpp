// What the environment of a TPU pod says of its processes, and where MPI says otherwise.
#define BOOST_TEST_MODULE tpu_pod
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "support/environment_variables.hpp"
#include "trireme/pjrt/strategy/tpu_pod.hpp"

using namespace trireme;

namespace {

using Variables = std::map<std::string, std::string>;

/// The variables of a pod, those given and no others.
struct PodOf {
  explicit PodOf(Variables const& given) : set(only(given)) {}
  static Variables only(Variables variables) {
    for (char const* const name : {"TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES", "CLOUD_TPU_TASK_ID",
                                   "TPU_WORKER_ID", "MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID"})
      variables.try_emplace(name, "");
    return variables;
  }
  test::EnvironmentVariables set;
};

void check_message(Variables const& variables, std::string const& text) {
  PodOf const pod(variables);
  BOOST_CHECK_EXCEPTION(launch::tpu_pod(), ValueError, [&](ValueError const& error) {
    BOOST_TEST_INFO(error.what());
    return std::string(error.what()).find(text) != std::string::npos;
  });
}

void check_refused(Variables const& variables, std::size_t rank, std::size_t ranks, std::string const& text) {
  PodOf const set(variables);
  auto const pod = launch::tpu_pod();
  BOOST_REQUIRE(pod.has_value());
  BOOST_CHECK_EXCEPTION(launch::require_ranks(*pod, rank, ranks), ValueError, [&](ValueError const& error) {
    std::string const message = error.what();
    BOOST_TEST_INFO(message);
    return message.find(text) != std::string::npos && message.find('\n') == std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_its_variables_there_is_no_pod) {
  PodOf const nothing({});
  BOOST_TEST(!launch::tpu_pod().has_value());
}

BOOST_AUTO_TEST_CASE(hosts_and_the_number_of_this_one_make_a_pod) {
  PodOf const set({{"TPU_WORKER_HOSTNAMES", "a.tpu,b.tpu,c.tpu,d.tpu"}, {"TPU_WORKER_ID", "2"}});
  auto const pod = launch::tpu_pod();
  BOOST_REQUIRE(pod.has_value());
  BOOST_TEST(pod->processes == 4u);
  BOOST_TEST(pod->process.value() == 2u);
  BOOST_TEST(pod->hosts == (std::vector<std::string>{"a.tpu", "b.tpu", "c.tpu", "d.tpu"}),
             boost::test_tools::per_element());
  launch::require_ranks(*pod, 2, 4);
}

BOOST_AUTO_TEST_CASE(several_processes_on_a_host_are_counted_by_their_addresses) {
  PodOf const set({{"TPU_WORKER_HOSTNAMES", "a,b"},
                   {"TPU_WORKER_ID", "1"},
                   {"TPU_PROCESS_ADDRESSES", "a:8476,a:8477,b:8476,b:8477"},
                   {"CLOUD_TPU_TASK_ID", "3"}});
  auto const pod = launch::tpu_pod();
  BOOST_REQUIRE(pod.has_value());
  BOOST_TEST(pod->processes == 4u);
  BOOST_TEST(pod->process.value() == 3u);
}

BOOST_AUTO_TEST_CASE(processes_are_counted_through_all_slices) {
  PodOf const set({{"TPU_WORKER_HOSTNAMES", "a,b,c"},
                   {"TPU_WORKER_ID", "1"},
                   {"MEGASCALE_NUM_SLICES", "2"},
                   {"MEGASCALE_SLICE_ID", "1"}});
  auto const pod = launch::tpu_pod();
  BOOST_REQUIRE(pod.has_value());
  BOOST_TEST(pod->processes == 6u);
  BOOST_TEST(pod->process.value() == 4u);
}

BOOST_AUTO_TEST_CASE(where_the_number_is_not_said_any_rank_will_do) {
  PodOf const set({{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", ""}});
  auto const pod = launch::tpu_pod();
  BOOST_REQUIRE(pod.has_value());
  BOOST_TEST(!pod->process.has_value());
  for (std::size_t rank = 0; rank < 2; ++rank) launch::require_ranks(*pod, rank, 2);
}

BOOST_AUTO_TEST_CASE(hosts_that_are_pods_of_their_own_may_be_ranks_of_any_number) {
  PodOf const set({{"TPU_WORKER_HOSTNAMES", "localhost"}, {"TPU_WORKER_ID", "0"}});
  auto const pod = launch::tpu_pod();
  BOOST_REQUIRE(pod.has_value());
  BOOST_TEST(pod->processes == 1u);
  for (std::size_t rank = 0; rank < 3; ++rank) launch::require_ranks(*pod, rank, 3);
}

BOOST_AUTO_TEST_CASE(numbers_that_cannot_be_are_named) {
  Variables const hosts{{"TPU_WORKER_HOSTNAMES", "a,b,c,d"}};
  auto const with = [&](Variables more) {
    more.insert(hosts.begin(), hosts.end());
    return more;
  };
  check_message(with({{"TPU_WORKER_ID", "first"}}), "TPU_WORKER_ID is 'first', which is no number");
  check_message(with({{"TPU_WORKER_ID", "-1"}}), "TPU_WORKER_ID is '-1', which is no number");
  check_message(with({{"TPU_WORKER_ID", "4"}}), "TPU_WORKER_ID is 4, but TPU_WORKER_HOSTNAMES tells of 4");
  check_message(with({{"TPU_WORKER_ID", "1"}, {"MEGASCALE_NUM_SLICES", "2"}}), "MEGASCALE_SLICE_ID is not");
  check_message(with({{"TPU_WORKER_ID", "1"}, {"MEGASCALE_NUM_SLICES", "2"}, {"MEGASCALE_SLICE_ID", "2"}}),
                "MEGASCALE_SLICE_ID is 2, but MEGASCALE_NUM_SLICES tells of 2");
}

BOOST_AUTO_TEST_CASE(another_number_of_ranks_is_refused) {
  check_refused({{"TPU_WORKER_HOSTNAMES", "a,b,c,d"}, {"TPU_WORKER_ID", "0"}}, 0, 1,
                "this TPU pod has 4 processes (by TPU_WORKER_HOSTNAMES), but the strategy has 1");
  check_refused({{"TPU_WORKER_HOSTNAMES", "a,b"}, {"MEGASCALE_NUM_SLICES", "2"}}, 0, 2,
                "this TPU pod has 4 processes (by TPU_WORKER_HOSTNAMES in each of MEGASCALE_NUM_SLICES)");
}

BOOST_AUTO_TEST_CASE(ranks_in_another_order_are_refused) {
  check_refused({{"TPU_WORKER_HOSTNAMES", "a,b"}, {"TPU_WORKER_ID", "0"}}, 1, 2,
                "rank 1 of 2 is process 0 of the TPU pod (by TPU_WORKER_ID)");
}
