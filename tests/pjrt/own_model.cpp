// A model of a user's own becomes a program by a ModelLowering beside it, as docs/tpu.md says.
#define BOOST_TEST_MODULE pjrt_own_model
#include "support/kokkos_fixture.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "pjrt/training.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/own_model.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace decay {

constexpr std::size_t substances = 2;

struct Activity {
  double const *p, *t;
  double* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    y[i] = 0;
    for (std::size_t k = 0; k < substances; ++k) y[i] += p[k] * Kokkos::exp(-p[substances + k] * t[i]);
  }
};
struct ActivityGradient {
  std::size_t rows;
  double const *p, *t, *dy;
  double* gradient;
  KOKKOS_FUNCTION void operator()(std::size_t k) const {
    gradient[k] = gradient[substances + k] = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      double const decayed = Kokkos::exp(-p[substances + k] * t[i]);
      gradient[k] += dy[i] * decayed;
      gradient[substances + k] -= dy[i] * p[k] * t[i] * decayed;
    }
  }
};

/// y(t) = sum over k of a_k exp(-r_k t).
class Model : public OwnModel<double, Adam, MeanSquaredError> {
 public:
  explicit Model(Adam optimizer)
      : OwnModel({.name = "decay", .parameters = {{"amplitudes", substances}, {"rates", substances}}}, optimizer,
                 MeanSquaredError{}) {}

  void initialize(std::span<double> arena) const {
    std::vector<double> const guess{2, 2, 2, 0.3};
    std::copy(guess.begin(), guess.end(), arena.begin());
  }
  template <class Context>
  std::size_t workspace_bytes(std::size_t rows) const {
    return 2 * aligned_bytes(rows * sizeof(double));
  }
  template <class Context>
  void train(Context& context, Slice<double, double> const& slice, PerOutput<1> const& scales, double const* p,
             double* gradients, std::byte* memory, double* totals, StepKeys const&, GradientSink<double>*) const {
    Workspace workspace(memory);
    auto* const y = workspace.take<double>(slice.rows);
    auto* const dy = workspace.take<double>(slice.rows);
    predict(context, slice.rows, slice.x.block(), y, p, memory);
    score(context, slice, y, scales, dy, totals);
    context.for_rows("decay::gradient", substances, ActivityGradient{slice.rows, p, slice.x.block(), dy, gradients});
  }
  template <class Context>
  void test(Context& context, Slice<double, double> const& slice, double const* p, std::byte* memory,
            double* totals) const {
    auto* const y = Workspace(memory).take<double>(slice.rows);
    predict(context, slice.rows, slice.x.block(), y, p, memory);
    score(context, slice, y, {}, nullptr, totals);
  }
  template <class Context>
  void predict(Context& context, std::size_t rows, double const* t, double* y, double const* p, std::byte*) const {
    context.for_rows("decay::activity", rows, Activity{p, t, y});
  }
};

}  // namespace decay

template <>
struct trireme::lowering::ModelLowering<decay::Model> {
  using Pairs = Extents<dynamic, decay::substances>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, decay::Model const&, Value<T, E> const& t) {
    Builder& b = trace.builder();
    auto const amplitudes = trace.parameter(Extents<decay::substances>{}),
               rates = trace.parameter(Extents<decay::substances>{});
    std::size_t const rows = t.extents[0];
    Pairs const pairs{{rows, decay::substances}};
    auto const times = b.repeat_back(b.reshape(t, Extents<dynamic>{{rows}}), pairs);
    auto const each = b.along_back(amplitudes.value, pairs);
    auto const decayed = b.unary<"exponential">(b.unary<"negate">(b.multiply(b.along_back(rates.value, pairs), times)));
    auto const y = b.reshape(b.sum_back(b.multiply(each, decayed)), Extents<dynamic, dynamic>{{rows, 1}});
    return Lowered{y, [=](Trace<T>& back, auto const& dy) {
                     Builder& c = back.builder();
                     auto const slope =
                         c.multiply(c.repeat_back(c.reshape(dy, Extents<dynamic>{{rows}}), pairs), decayed);
                     auto const weighted = c.multiply(c.multiply(each, times), slope);
                     back.set_gradient(amplitudes, c.sum_to_back(slope));
                     back.set_gradient(rates, c.unary<"negate">(c.sum_to_back(weighted)));
                     auto const rate = c.along_back(rates.value, pairs);
                     auto const dt = c.unary<"negate">(c.sum_back(c.multiply(c.multiply(each, rate), slope)));
                     return c.reshape(dt, t.extents);
                   }};
  }
};

BOOST_AUTO_TEST_CASE(a_model_of_a_users_own_trains_as_on_one_device) {
  std::vector<double> time(150), activity(150), weight(150);
  for (std::size_t i = 0; i < time.size(); ++i) {
    time[i] = static_cast<double>(i) / 25;
    activity[i] = 3 * std::exp(-time[i]) + 1.5 * std::exp(-0.1 * time[i]);
    weight[i] = 0.5 + static_cast<double>(i % 3);
  }
  auto const data = data::from_tensor_slices(time, activity, weight).shuffle(150, 1).batch(GlobalBatch{32});
  auto const trained = [&](auto const& strategy) {
    auto model = compile(strategy, decay::Model(Adam{.learning_rate = 0.02}));
    auto history = fit(strategy, model, data, {.epochs = 20, .verbose = false});
    auto prediction = predict(strategy, model, data);
    return std::tuple(std::move(model), std::move(history), std::move(prediction));
  };
  auto const reference = trained(OneDeviceStrategy<>());
  BOOST_TEST(std::get<1>(reference)["loss"].back() < 0.1 * std::get<1>(reference)["loss"].front());
  for (std::size_t replicas : {1u, 3u}) BOOST_TEST_CONTEXT(replicas << " replicas") {
      auto const run = trained(test::pjrt_strategy(replicas));
      test::check_same_weights(std::get<0>(run), std::get<0>(reference), 1e-11);
      test::check_same_history(std::get<1>(run), std::get<1>(reference), 1e-11);
      BOOST_TEST(test::distance(std::get<2>(run), std::get<2>(reference)) <= 1e-11);
    }
}
