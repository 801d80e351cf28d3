#define BOOST_TEST_MODULE callbacks_dispatch
#include <boost/test/unit_test.hpp>

#include <string>
#include <tuple>
#include <vector>

#include "trireme/callbacks/dispatch.hpp"

namespace tr = trireme;

namespace {

struct ScriptedRun {
  std::string trace;
};

struct First {
  tr::Control on_epoch_end(ScriptedRun& run) {
    run.trace += "first ";
    return answer;
  }
  tr::Control answer = tr::Control::proceed;
};

struct Second {
  template <class Run>
  tr::Uniform<tr::Control> on_epoch_end(Run& run) const {
    run.trace += "second ";
    return tr::always<tr::Control::stop>();
  }
};

struct Third {
  void on_epoch_end(auto& run) { run.trace += "third "; }
  void on_train_begin(ScriptedRun const& run) { seen = run.trace; }
  std::string seen;
};

struct Fourth final {
  void on_epoch_end(ScriptedRun& run) { run.trace += "fourth "; }
};

struct OnlyTrainEnd {
  void on_train_end(ScriptedRun&) {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(all_callbacks_are_called_in_order_although_the_first_wishes_to_stop) {
  std::tuple callbacks{First{tr::Control::stop}, Second{}, Third{}, Fourth{}};
  ScriptedRun run;
  auto const requests = tr::notify<tr::hooks::EpochEnd>(callbacks, run);
  BOOST_TEST(run.trace == "first second third fourth ");
  BOOST_TEST(requests.local_request);
  BOOST_TEST(requests.uniform_request);
}

BOOST_AUTO_TEST_CASE(a_local_wish_needs_a_vote_and_a_uniform_one_does_not) {
  static_assert(tr::needs_vote<tr::hooks::EpochEnd, ScriptedRun, First, Second>);
  static_assert(!tr::needs_vote<tr::hooks::EpochEnd, ScriptedRun, Second, Third, Fourth>);
  static_assert(!tr::needs_vote<tr::hooks::TrainBatchEnd, ScriptedRun, First, Second>);
  std::tuple callbacks{First{}, Third{}};
  ScriptedRun run;
  auto const requests = tr::notify<tr::hooks::EpochEnd>(callbacks, run);
  static_assert(decltype(requests)::needs_vote);
  BOOST_TEST(!requests.local_request);
  BOOST_TEST(!requests.uniform_request);
}

BOOST_AUTO_TEST_CASE(a_uniform_decision_is_no_local_wish) {
  std::tuple callbacks{Second{}};
  ScriptedRun run;
  auto const requests = tr::notify<tr::hooks::EpochEnd>(callbacks, run);
  static_assert(!decltype(requests)::needs_vote);
  BOOST_TEST(requests.uniform_request);
  BOOST_TEST(!requests.local_request);
}

BOOST_AUTO_TEST_CASE(an_absent_hook_is_skipped_and_references_keep_the_users_state) {
  Third third;
  First first{tr::Control::stop};
  std::tuple<First&, Third&, OnlyTrainEnd> callbacks{first, third, OnlyTrainEnd{}};
  ScriptedRun run{"before"};
  auto const requests = tr::notify<tr::hooks::TrainBegin>(callbacks, run);
  BOOST_TEST(third.seen == "before");
  BOOST_TEST(!requests.local_request);
}

BOOST_AUTO_TEST_CASE(names_of_hooks_are_found_whatever_their_signature) {
  struct Wrong {
    void on_epoch_end(std::vector<int>&, double) {}
  };
  class Hidden {
    void on_epoch_end(ScriptedRun&) {}
  };
  static_assert(tr::declares_hook<tr::hooks::EpochEnd, Wrong>);
  static_assert(tr::declares_hook<tr::hooks::EpochEnd, Hidden>);
  static_assert(tr::declares_hook<tr::hooks::EpochEnd, Second>);
  static_assert(!tr::declares_hook<tr::hooks::EpochBegin, Second>);
  static_assert(tr::require_callback<Fourth, ScriptedRun>());
  static_assert(tr::require_callback<OnlyTrainEnd, ScriptedRun>());
  static_assert(!tr::detail::has_any_hook<std::vector<int>, ScriptedRun>(tr::hooks::All{}));
}
