#define BOOST_TEST_MODULE server_roles
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/strategies/parameter_server/server_roles.hpp"

using namespace trireme;

namespace {

/// Parameters of these sizes one after the other, then the states.
ModelDescription model_of(std::vector<std::size_t> const& parameters, std::vector<std::size_t> const& states = {}) {
  ModelDescription model;
  for (std::size_t size : parameters) {
    ParameterInfo info;
    info.offset = model.elements;
    info.size = size;
    model.parameters.push_back(info);
    model.elements += (size + 15) / 16 * 16;
  }
  for (std::size_t size : states) {
    StateInfo info;
    info.offset = model.arena_elements();
    info.size = size;
    model.states.push_back(info);
    model.state_elements += (size + 15) / 16 * 16;
  }
  return model;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranges_cover_the_arena_and_none_is_much_larger_than_the_others) {
  for (auto const& model : {model_of({1000}), model_of({300, 10, 500, 7, 90}), model_of({16, 16, 16}, {40, 40}),
                            model_of({3}), model_of(std::vector<std::size_t>(30, 33), {5, 1000})})
    for (std::size_t servers = 1; servers <= 7; ++servers) {
      auto const ranges = cut_arena(model, servers, 16);
      BOOST_TEST(ranges.size() == servers);
      BOOST_TEST(ranges.front().begin == 0u);
      BOOST_TEST(ranges.back().end == model.arena_elements());
      for (std::size_t s = 0; s < servers; ++s) {
        if (s > 0) BOOST_TEST(ranges[s].begin == ranges[s - 1].end);
        BOOST_TEST(ranges[s].begin % 16 == 0u);
        BOOST_TEST(4 * ranges[s].size() * servers <= 5 * model.arena_elements() + 4 * 16 * servers);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_cut_lies_between_two_parameters_where_one_ends_near_by_and_else_within_one) {
  auto const near = cut_arena(model_of({480, 544}), 2, 16);
  BOOST_TEST(near[0].end == 480u);
  auto const far = cut_arena(model_of({160, 864}), 2, 16);
  BOOST_TEST(far[0].end == 512u);
}

BOOST_AUTO_TEST_CASE(the_descriptions_of_the_ranges_are_the_models_in_pieces) {
  auto const model = model_of({300, 10, 500, 7, 90}, {40, 33});
  for (std::size_t servers = 1; servers <= 5; ++servers) {
    std::vector<std::size_t> found(model.arena_elements(), 0);
    std::size_t elements = 0, state_elements = 0;
    for (ElementRange const range : cut_arena(model, servers, 16)) {
      auto const part = describe_range(model, range);
      BOOST_TEST(part.arena_elements() == range.size());
      BOOST_TEST(part.parameters.size() == model.parameters.size());
      elements += part.elements;
      state_elements += part.state_elements;
      auto const mark = [&](auto const& infos) {
        for (WeightInfo const& info : infos)
          for (std::size_t i = 0; i < info.size; ++i) ++found.at(range.begin + info.offset + i);
      };
      mark(part.parameters);
      mark(part.states);
      for (auto const& p : part.parameters) BOOST_TEST(p.offset + p.size <= part.elements);
    }
    BOOST_TEST(elements == model.elements);
    BOOST_TEST(state_elements == model.state_elements);
    std::vector<std::size_t> expected(model.arena_elements(), 0);
    auto const mark = [&](auto const& infos) {
      for (WeightInfo const& info : infos)
        for (std::size_t i = 0; i < info.size; ++i) ++expected[info.offset + i];
    };
    mark(model.parameters);
    mark(model.states);
    BOOST_TEST(found == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(workers_come_first_then_servers_then_the_evaluator) {
  auto const roles = ServerRoles::of(6, 2, true);
  BOOST_TEST(roles.workers == 3u);
  for (std::size_t rank = 0; rank < 6; ++rank) {
    BOOST_TEST(roles.is_worker(rank) == (rank < 3));
    BOOST_TEST(roles.is_server(rank) == (rank == 3 || rank == 4));
    BOOST_TEST(roles.is_evaluator(rank) == (rank == 5));
  }
  auto const alone = ServerRoles::of(1, 3, false);
  BOOST_TEST((alone.is_worker(0) && alone.is_server(0)));
  auto const refused = [](std::size_t ranks, std::size_t servers, bool evaluator) {
    try {
      ServerRoles::of(ranks, servers, evaluator);
    } catch (ValueError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  BOOST_TEST(refused(3, 2, true) ==
             "ParameterServerStrategy: 2 servers and an evaluator leave no worker among 3 ranks");
  BOOST_TEST(refused(2, 0, false) == "ParameterServerOptions::servers is 0, which is outside of [1, 2^53]");
}
