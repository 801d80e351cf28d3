/// Kernels of one time step of an LSTM. Pointers are those of the step in the first row; the gates of a row lie side by
/// side: input, forget, cell, output.
#pragma once

#include <cstddef>

#include <Kokkos_Macros.hpp>

namespace trireme::kernels {

template <class T>
struct ClearStep {
  T* x;
  std::size_t stride;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const { x[row * stride + j] = T{0}; }
};

/// Applies the gates' activations in place, and computes cell and state.
template <class T, class A, class R>
struct LstmStep {
  A activation;
  R recurrent;
  std::size_t units, time;
  T const* bias;  ///< null: none
  T* gates;
  T* cell;
  T const* cell_before;  ///< null: zero
  T* state;              ///< for the next step; null after the last one
  T* y;                  ///< null: not an output
  std::size_t y_stride;

  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    T* const z = gates + row * time * 4 * units + j;
    std::size_t const at = row * time * units + j;
    T const in = recurrent(z[0] + (bias ? bias[j] : T{0}));
    T const forget = recurrent(z[units] + (bias ? bias[units + j] : T{0}));
    T const candidate = activation(z[2 * units] + (bias ? bias[2 * units + j] : T{0}));
    T const out = recurrent(z[3 * units] + (bias ? bias[3 * units + j] : T{0}));
    T const c = (cell_before ? forget * cell_before[at] : T{0}) + in * candidate;
    T const h = out * activation(c);
    z[0] = in;
    z[units] = forget;
    z[2 * units] = candidate;
    z[3 * units] = out;
    cell[at] = c;
    if (state) state[at] = h;
    if (y) y[row * y_stride + j] = h;
  }
};

/// Turns the gates into the gradients of what their activations were applied to, and carries the cell's gradient back.
template <class T, class A, class R>
struct LstmStepGradient {
  A activation;
  R recurrent;
  std::size_t units, time;
  T* gates;
  T const* cell;
  T const* cell_before;  ///< null: zero
  T const* dy;           ///< null: none
  std::size_t dy_stride;
  T const* dh;  ///< from the step after; null for the last one, which has no dc either
  T* dc;

  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    T* const z = gates + row * time * 4 * units + j;
    std::size_t const at = row * time * units + j, carried = row * units + j;
    T const in = z[0], forget = z[units], candidate = z[2 * units], out = z[3 * units];
    T const squashed = activation(cell[at]);
    T const state = (dy ? dy[row * dy_stride + j] : T{0}) + (dh ? dh[carried] : T{0});
    T const c = (dh ? dc[carried] : T{0}) + state * out * activation.derivative(squashed);
    z[0] = c * candidate * recurrent.derivative(in);
    z[units] = (cell_before ? c * cell_before[at] : T{0}) * recurrent.derivative(forget);
    z[2 * units] = c * in * activation.derivative(candidate);
    z[3 * units] = state * squashed * recurrent.derivative(out);
    dc[carried] = c * forget;
  }
};

}  // namespace trireme::kernels
