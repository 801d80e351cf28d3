// Programs that sum over processes end in segments, of which each takes what earlier ones have computed; devices of a
// replica divide arguments.
#define BOOST_TEST_MODULE lowering_segments
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;
using lowering::Builder;

namespace {

using Vector = lowering::Value<double, lowering::AnyExtents>;

bool says(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

template <class Layer>
lowering::SegmentedProgram gradients(Layer const& layer) {
  Sequential const layers{Input<4>{}, Dense<3>{}, layer, Dense<2>{}, layer};
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
  return lowering::ModelPrograms(model, 8, 2).gradients();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_segment_takes_the_values_of_earlier_ones_and_computes_constants_anew) {
  Builder b;
  lowering::AnyExtents const four{{4}};
  auto const x = b.argument<double>(four), y = b.argument<double>(four), unused = b.argument<double>(four);
  auto const two = b.constant<double>(2, four);
  auto const doubled = b.multiply(x, two);
  auto const sum = b.sum_processes(std::vector<Vector>{b.add(doubled, y)})[0];
  b.result(b.multiply(b.add(sum, doubled), two), y);
  b.result(unused);
  auto const program = b.finish_segments();
  BOOST_TEST(program.arguments == (std::vector<std::size_t>{x.id, y.id, unused.id}), boost::test_tools::per_element());
  BOOST_REQUIRE(program.segments.size() == 2u);
  auto const &first = program.segments[0], &second = program.segments[1];
  BOOST_TEST(first.arguments == (std::vector<std::size_t>{x.id, y.id}), boost::test_tools::per_element());
  BOOST_TEST(first.sums == std::vector<std::size_t>{sum.id}, boost::test_tools::per_element());
  BOOST_TEST(first.results.size() == 2u);  // the summand, then the doubled x
  BOOST_TEST(first.results[1] == doubled.id);
  BOOST_TEST(second.arguments == (std::vector<std::size_t>{unused.id, doubled.id, sum.id}),
             boost::test_tools::per_element());
  BOOST_TEST(second.results.size() == 2u);
  BOOST_TEST(says(second.program.text, "stablehlo.constant"));
  // An argument that the last segment does not take is not overwritten.
  BOOST_TEST(!says(first.program.text, "tf.aliasing_output"));
  BOOST_TEST(!says(second.program.text, "tf.aliasing_output"));
}

BOOST_AUTO_TEST_CASE(the_last_segment_overwrites_arguments) {
  Builder b;
  lowering::AnyExtents const four{{4}};
  auto const x = b.argument<double>(four), total = b.argument<double>(four);
  b.result(b.add(total, b.sum_processes(std::vector<Vector>{x})[0]), total);
  BOOST_CHECK_THROW(b.finish(), Error);
  auto const program = b.finish_segments();
  BOOST_REQUIRE(program.segments.size() == 2u);
  BOOST_TEST(says(program.segments[1].program.text, "tf.aliasing_output = 0"));
}

BOOST_AUTO_TEST_CASE(a_normalization_over_processes_sums_three_times) {
  BOOST_TEST(gradients(SyncBatchNormalization<>{}).segments.size() == 7u);
  BOOST_TEST(gradients(BatchNormalization<>{}).segments.size() == 1u);
}

BOOST_AUTO_TEST_CASE(devices_of_a_replica_divide_arguments_and_the_results_that_replace_them) {
  Builder b(2);
  lowering::AnyExtents const matrix{{3, 4}};
  auto const x = b.argument<float>(matrix, 1), y = b.argument<float>(matrix);
  b.result(b.add(x, y), x);
  b.result(y);
  b.result(x);
  auto const program = b.finish();
  BOOST_TEST(program.shards == 2u);
  BOOST_TEST(program.arguments[0].text() == "f32 (3, 2)");
  BOOST_TEST(program.arguments[1].text() == "f32 (3, 4)");
  BOOST_TEST(program.results[0].text() == "f32 (3, 2)");
  BOOST_TEST(program.results[1].text() == "f32 (3, 4)");
  BOOST_TEST(program.results[2].text() == "f32 (3, 2)");
  BOOST_TEST(says(program.text,
                  "%v0: tensor<3x4xf32> {mhlo.sharding = \"{devices=[1,2]<=[2]}\", "
                  "tf.aliasing_output = 0 : i32}"));
  BOOST_TEST(says(program.text, "%v1: tensor<3x4xf32> {mhlo.sharding = \"{replicated}\"}"));
}
