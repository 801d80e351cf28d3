/// Kernels of one time step of a GRU. Pointers are those of the step in the first row; the gates of a row lie side by
/// side: update, reset, candidate.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme::kernels {

/// Operands of forward, and the last part of its kernels.
template <class T, class A, class R>
struct GruStep {
  A activation;
  R recurrent;
  std::size_t units, time;
  T const* bias;            ///< (3 units), and with reset after the product the recurrent one behind it; may be null
  T* gates;                 ///< in: the products of the inputs; out: the gates' activations
  T* inner;                 ///< of the state: its products, (3 units); or times the reset gate before them, (units)
  T const* state;           ///< before the step
  T* next;                  ///< for the next step, or the output after the last one
  std::size_t next_stride;  ///< between rows
  T* y;                     ///< the step's output, of sequences; otherwise null
  std::size_t y_stride;

  KOKKOS_FUNCTION T bias_of(std::size_t i) const { return bias ? bias[i] : T{0}; }
  KOKKOS_FUNCTION void finish(std::size_t row, std::size_t j, T update, T candidate) const {
    T const h = update * state[row * time * units + j] + (T{1} - update) * candidate;
    next[row * next_stride + j] = h;
    if (y) y[row * y_stride + j] = h;
  }
};

/// A whole step, where the reset gate acts on the state's product.
template <class T, class A, class R>
struct GruStepAfter : GruStep<T, A, R> {
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const n = this->units;
    T* const z = this->gates + row * this->time * 3 * n + j;
    T* const s = this->inner + row * this->time * 3 * n + j;
    T const update = this->recurrent(z[0] + s[0] + this->bias_of(j) + this->bias_of(3 * n + j));
    T const reset = this->recurrent(z[n] + s[n] + this->bias_of(n + j) + this->bias_of(4 * n + j));
    s[2 * n] += this->bias_of(5 * n + j);
    T const candidate = this->activation(z[2 * n] + this->bias_of(2 * n + j) + reset * s[2 * n]);
    z[0] = update;
    z[n] = reset;
    z[2 * n] = candidate;
    this->finish(row, j, update, candidate);
  }
};

/// Update and reset gate, and what the candidate's product takes, where the reset gate acts before it.
template <class T, class A, class R>
struct GruGates : GruStep<T, A, R> {
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const n = this->units, at = row * this->time * n + j;
    T* const z = this->gates + row * this->time * 3 * n + j;
    z[0] = this->recurrent(z[0] + this->bias_of(j));
    z[n] = this->recurrent(z[n] + this->bias_of(n + j));
    this->inner[at] = z[n] * this->state[at];
  }
};
/// The rest of that step.
template <class T, class A, class R>
struct GruCandidate : GruStep<T, A, R> {
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const n = this->units;
    T* const z = this->gates + row * this->time * 3 * n + j;
    z[2 * n] = this->activation(z[2 * n] + this->bias_of(2 * n + j));
    this->finish(row, j, z[0], z[2 * n]);
  }
};

/// Turns the gates of a step into the gradients of what their activations were applied to, and the gradient `dh` of the
/// step's state into the part of the state before it that does not come through products.
template <class T, class A, class R>
struct GruStepGradient {
  A activation;
  R recurrent;
  std::size_t units, time;
  T* gates;
  T* inner;
  T const* state;
  T const* dy;  ///< the step's, of sequences; otherwise null
  std::size_t dy_stride;
  T* dh;

  /// Of the update gate and the candidate; returns that of the state after the step.
  KOKKOS_FUNCTION T outer(std::size_t row, std::size_t j, T* z) const {
    T const update = z[0], candidate = z[2 * units];
    T after = dh[row * units + j];
    if (dy) after += dy[row * dy_stride + j];
    z[0] = after * (state[row * time * units + j] - candidate) * recurrent.derivative(update);
    z[2 * units] = after * (T{1} - update) * activation.derivative(candidate);
    dh[row * units + j] = after * update;
    return after;
  }
};

template <class T, class A, class R>
struct GruStepGradientAfter : GruStepGradient<T, A, R> {
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    std::size_t const n = this->units;
    T* const z = this->gates + row * this->time * 3 * n + j;
    T* const s = this->inner + row * this->time * 3 * n + j;
    T const reset = z[n];
    this->outer(row, j, z);
    z[n] = z[2 * n] * s[2 * n] * this->recurrent.derivative(reset);
    s[0] = z[0];
    s[n] = z[n];
    s[2 * n] = z[2 * n] * reset;
  }
};

template <class T, class A, class R>
struct GruOuterGradient : GruStepGradient<T, A, R> {
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    this->outer(row, j, this->gates + row * this->time * 3 * this->units + j);
  }
};
/// Through the reset gate, from the gradient `reset_state` (rows, units) of what the candidate's product took.
template <class T, class R>
struct GruResetGradient {
  R recurrent;
  std::size_t units, time;
  T* gates;
  T const* state;
  T const* reset_state;
  T* dh;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    T& z = gates[row * time * 3 * units + units + j];
    T const reset = z, d = reset_state[row * units + j];
    dh[row * units + j] += d * reset;
    z = d * state[row * time * units + j] * recurrent.derivative(reset);
  }
};

}  // namespace trireme::kernels
