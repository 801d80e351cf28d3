// OneDevice and Mirrored against the same training written out as plain loops.
#define BOOST_TEST_MODULE serial_reference
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

constexpr std::size_t inputs = 5, hidden = 8, outputs = 3, batch = 7;
constexpr double l2 = 0.02, rate = 0.1, momentum = 0.9, limit = 1e-13;
using Vector = std::vector<double>;

/// y = W2' tanh(W1' x + b1) + b2, softmax cross-entropy, L2 on W1, SGD with momentum: one sample after the other.
struct Reference {
  Vector w1, b1, w2, b2;
  Vector v1 = Vector(w1.size()), c1 = Vector(b1.size()), v2 = Vector(w2.size()), c2 = Vector(b2.size());
  double loss_sum = 0, right = 0, samples = 0;

  void step(double const* x, std::int32_t const* labels, std::size_t rows) {
    Vector g1(w1.size()), d1(b1.size()), g2(w2.size()), d2(b2.size());
    double loss = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      double const* const in = x + r * inputs;
      Vector h(hidden), z(outputs), dz(outputs);
      for (std::size_t j = 0; j < hidden; ++j) {
        double sum = b1[j];
        for (std::size_t i = 0; i < inputs; ++i) sum += in[i] * w1[i * hidden + j];
        h[j] = std::tanh(sum);
      }
      for (std::size_t k = 0; k < outputs; ++k) {
        z[k] = b2[k];
        for (std::size_t j = 0; j < hidden; ++j) z[k] += h[j] * w2[j * outputs + k];
      }
      double total = 0;
      for (double value : z) total += std::exp(value);
      auto const label = static_cast<std::size_t>(labels[r]);
      loss += std::log(total) - z[label];
      right += std::max_element(z.begin(), z.end()) - z.begin() == labels[r] ? 1 : 0;
      for (std::size_t k = 0; k < outputs; ++k)
        dz[k] = (std::exp(z[k]) / total - (k == label ? 1 : 0)) / static_cast<double>(rows);
      for (std::size_t j = 0; j < hidden; ++j) {
        double dh = 0;
        for (std::size_t k = 0; k < outputs; ++k) {
          g2[j * outputs + k] += h[j] * dz[k];
          dh += w2[j * outputs + k] * dz[k];
        }
        double const before = dh * (1 - h[j] * h[j]);
        d1[j] += before;
        for (std::size_t i = 0; i < inputs; ++i) g1[i * hidden + j] += in[i] * before;
      }
      for (std::size_t k = 0; k < outputs; ++k) d2[k] += dz[k];
    }
    double penalty = 0;
    for (std::size_t i = 0; i < w1.size(); ++i) {
      penalty += l2 * w1[i] * w1[i];
      g1[i] += 2 * l2 * w1[i];
    }
    loss_sum += loss + penalty * static_cast<double>(rows);
    samples += static_cast<double>(rows);
    move(w1, v1, g1);
    move(b1, c1, d1);
    move(w2, v2, g2);
    move(b2, c2, d2);
  }

  static void move(Vector& w, Vector& velocity, Vector const& gradient) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      velocity[i] = momentum * velocity[i] - rate * gradient[i];
      w[i] += velocity[i];
    }
  }
};

auto architecture() {
  return Sequential{Input<inputs>{}, Dense<hidden, Tanh>{.kernel_regularizer = L2(l2)}, Dense<outputs>{}};
}

/// Three batches of 7, and one of 2 at the end.
template <class Strategy>
void check_against_loops(Strategy const& strategy, Parallelism plan) {
  auto const samples = test::make_samples<double>(23, {inputs}, outputs, 5);
  auto model = compile<double>(strategy, architecture(), SGD{.learning_rate = rate, .momentum = momentum},
                               SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                               CompileOptions{.seed = 3, .parallelism = plan});
  auto const values = [&](char const* name) {
    auto const w = model.weights(name);
    return Vector(w.begin(), w.end());
  };
  Reference reference{values("dense/kernel"), values("dense/bias"), values("dense_1/kernel"), values("dense_1/bias")};
  for (std::size_t first = 0; first < samples.size(); first += batch)
    reference.step(samples.x.data() + first * inputs, samples.y.data() + first,
                   std::min(batch, samples.size() - first));

  auto const history = fit(strategy, model, samples.data().batch(GlobalBatch{batch}), {.verbose = false});
  BOOST_TEST(test::distance(values("dense/kernel"), reference.w1) <= limit);
  BOOST_TEST(test::distance(values("dense/bias"), reference.b1) <= limit);
  BOOST_TEST(test::distance(values("dense_1/kernel"), reference.w2) <= limit);
  BOOST_TEST(test::distance(values("dense_1/bias"), reference.b2) <= limit);
  test::check_close(history["loss"][0], reference.loss_sum / reference.samples, limit, "loss");
  test::check_close(history["accuracy"][0], reference.right / reference.samples, limit, "accuracy");
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_device_trains_as_plain_loops_do_under_both_plans) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op, Parallelism::automatic})
    check_against_loops(OneDeviceStrategy<>(), plan);
}

#ifdef KOKKOS_ENABLE_SERIAL
BOOST_AUTO_TEST_CASE(one_device_on_a_serial_space_trains_as_plain_loops_do) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
    check_against_loops(OneDeviceStrategy<Kokkos::Serial>(), plan);
}
#endif

BOOST_AUTO_TEST_CASE(any_number_of_replicas_trains_as_plain_loops_do) {
  for (std::size_t replicas = 1; replicas <= 5; ++replicas)
    for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
      check_against_loops(MirroredStrategy<>(replicas), plan);
}
