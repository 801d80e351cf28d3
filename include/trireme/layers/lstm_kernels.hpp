/// Kernels of one time step of an LSTM. Pointers are those of the step in the first row; the gates of a row lie side by
/// side: input, forget, cell, output.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme::kernels {

/// Applies the gates' activations in place, and computes cell and state. Nothing in it depends on the step, so that
/// loops over it have no branch.
template <class T, class A, class R, bool UseBias, bool Sequences>
struct LstmStep {
  A activation;
  R recurrent;
  std::size_t units, time;
  T const* bias;
  T* gates;
  T* cell;
  T const* cell_before;
  T* state;  ///< for the next step, or the output after the last one
  std::size_t state_stride;
  T* y;  ///< the step's output, of sequences
  std::size_t y_stride;

  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    T* const z = gates + row * time * 4 * units + j;
    std::size_t const at = row * time * units + j;
    T const in = recurrent(z[0] + bias_of(j));
    T const forget = recurrent(z[units] + bias_of(units + j));
    T const candidate = activation(z[2 * units] + bias_of(2 * units + j));
    T const out = recurrent(z[3 * units] + bias_of(3 * units + j));
    T const c = forget * cell_before[at] + in * candidate;
    T const h = out * activation(c);
    z[0] = in;
    z[units] = forget;
    z[2 * units] = candidate;
    z[3 * units] = out;
    cell[at] = c;
    state[row * state_stride + j] = h;
    if constexpr (Sequences) y[row * y_stride + j] = h;
  }

 private:
  KOKKOS_FUNCTION T bias_of(std::size_t j) const {
    if constexpr (UseBias)
      return bias[j];
    else
      return T{0};
  }
};

/// Turns the gates into the gradients of what their activations were applied to, and carries the cell's gradient back.
template <class T, class A, class R, bool Sequences>
struct LstmStepGradient {
  A activation;
  R recurrent;
  std::size_t units, time;
  T* gates;
  T const* cell;
  T const* cell_before;
  T const* dy;  ///< the step's, of sequences
  std::size_t dy_stride;
  T const* dh;  ///< from the step after, or of the output of the last one
  T* dc;

  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    T* const z = gates + row * time * 4 * units + j;
    std::size_t const at = row * time * units + j, carried = row * units + j;
    T const in = z[0], forget = z[units], candidate = z[2 * units], out = z[3 * units];
    T const squashed = activation(cell[at]);
    T state = dh[carried];
    if constexpr (Sequences) state += dy[row * dy_stride + j];
    T const c = dc[carried] + state * out * activation.derivative(squashed);
    z[0] = c * candidate * recurrent.derivative(in);
    z[units] = c * cell_before[at] * recurrent.derivative(forget);
    z[2 * units] = c * in * activation.derivative(candidate);
    z[3 * units] = state * squashed * recurrent.derivative(out);
    dc[carried] = c * forget;
  }
};

}  // namespace trireme::kernels
