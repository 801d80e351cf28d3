/// MPI types of C++ types, and the concepts of types that can be sent or reduced.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>

namespace trireme {

/// A number that MPI can add and compare.
template <class T>
concept Reducible = std::floating_point<T> || (std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>);

/// A value that consists of its bytes alone, so that a copy can be sent to another process.
template <class T>
concept Transferable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::ranges::range<T>;

/// Contiguous values that can be sent: a span, a vector, an array.
template <class R>
concept TransferableRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Transferable<std::ranges::range_value_t<R>>;

/// Contiguous numbers that can be reduced in place.
template <class R>
concept ReducibleRange = TransferableRange<R> && Reducible<std::ranges::range_value_t<R>> &&
                         !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Most elements of one MPI call, since MPI counts in int; longer arrays take several calls.
inline constexpr std::size_t largest_mpi_count = INT_MAX;

namespace detail {
/// `units` elements of `type` make one T.
struct WireType {
  MPI_Datatype type;
  std::size_t units;
};

template <Transferable T>
WireType wire_type() {
  if constexpr (std::same_as<T, float>)
    return {MPI_FLOAT, 1};
  else if constexpr (std::same_as<T, double>)
    return {MPI_DOUBLE, 1};
  else if constexpr (std::same_as<T, long double>)
    return {MPI_LONG_DOUBLE, 1};
  else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1)
      return {is_signed ? MPI_INT8_T : MPI_UINT8_T, 1};
    else if constexpr (sizeof(T) == 2)
      return {is_signed ? MPI_INT16_T : MPI_UINT16_T, 1};
    else if constexpr (sizeof(T) == 4)
      return {is_signed ? MPI_INT32_T : MPI_UINT32_T, 1};
    else
      return {is_signed ? MPI_INT64_T : MPI_UINT64_T, 1};
  } else {
    return {MPI_BYTE, sizeof(T)};
  }
}

/// Calls part(offset, count) over n elements, with counts of at most `largest`; once with a count of 0 if n is 0.
template <class Part>
void in_chunks(std::size_t n, std::size_t largest, Part&& part) {
  std::size_t offset = 0;
  do {
    std::size_t const count = std::min(largest, n - offset);
    part(offset, static_cast<int>(count));
    offset += count;
  } while (offset < n);
}

/// A rank or tag as MPI takes it; a value out of range stays out of range, and MPI reports the call that got it.
inline int to_mpi_int(std::size_t value) { return static_cast<int>(std::min(value, largest_mpi_count)); }
}  // namespace detail

}  // namespace trireme
