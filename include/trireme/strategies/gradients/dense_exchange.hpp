/// Sums of gradients that are sent as numbers of another type, such as bfloat16.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "trireme/mpi/all_to_all.hpp"

namespace trireme {

namespace kernels {

/// The remainder when `value` was sent as `sent`; 0 if that is not finite, since it would never become finite again.
template <class T>
T left_over(T value, T sent) {
  T const rest = value - sent;
  return std::isfinite(rest) ? rest : T{0};
}

/// A block of a rank's message: the gradient plus the remainder of earlier steps.
template <class T, class Wire>
struct Encode {
  static constexpr std::size_t block = 4096;
  T const* gradients;
  T* residual;
  Wire* sent;
  std::size_t elements;
  std::size_t blocks() const { return (elements + block - 1) / block; }
  void operator()(std::size_t index) const {
    std::size_t const end = std::min(elements, (index + 1) * block);
    for (std::size_t i = index * block; i < end; ++i) {
      T const value = gradients[i] + residual[i];
      sent[i] = static_cast<Wire>(value);
      residual[i] = left_over(value, static_cast<T>(sent[i]));
    }
  }
};

/// A block of the sums of this rank's range, over the ranks in order. The loss of their rounding stays here too.
template <class T, class Wire>
struct SumEncoded {
  static constexpr std::size_t block = 4096;
  Wire const* received;  ///< (ranks, elements)
  std::size_t ranks, elements;
  T* residual;
  Wire* sums;
  std::size_t blocks() const { return (elements + block - 1) / block; }
  void operator()(std::size_t index) const {
    std::size_t const end = std::min(elements, (index + 1) * block);
    for (std::size_t i = index * block; i < end; ++i) {
      T sum = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) sum += static_cast<T>(received[rank * elements + i]);
      sums[i] = static_cast<Wire>(sum);
      residual[i] += left_over(sum, static_cast<T>(sums[i]));
    }
  }
};

template <class T, class Wire>
struct Decode {
  static constexpr std::size_t block = 4096;
  Wire const* sums;
  T* gradients;
  std::size_t elements;
  std::size_t blocks() const { return (elements + block - 1) / block; }
  void operator()(std::size_t index) const {
    std::size_t const end = std::min(elements, (index + 1) * block);
    for (std::size_t i = index * block; i < end; ++i) gradients[i] = static_cast<T>(sums[i]);
  }
};

}  // namespace kernels

/// Each rank adds up its range of the arena, and sends the sums to the others: as many elements travel as in a usual
/// reduction, each as Wire.
template <class T, class Wire>
class DenseExchange {
 public:
  /// Exchange of arenas of so many elements.
  DenseExchange(Communicator const& communicator, Wire const&, std::size_t elements)
      : messages_(communicator),
        elements_(elements),
        sent_(elements),
        received_(messages_.ranks() * range(messages_.rank()).size) {}

  /// Bytes that a rank contributes to the sums.
  static constexpr std::size_t contribution(Wire const&, std::size_t elements) { return elements * sizeof(Wire); }
  /// Bytes of all messages of this rank so far.
  std::uint64_t bytes_sent() const { return messages_.bytes_sent(); }

  /// Gradients (elements) become the sums over all ranks of gradients and residuals, less the new residuals; bitwise
  /// the same on all. Collective. `loop(label, kernel)` runs a kernel's blocks.
  template <class Loop>
  void sum(Loop const& loop, T* gradients, T* residual) {
    constexpr int contributions = 1, sums = 2;
    loop("trireme::encode", kernels::Encode<T, Wire>{gradients, residual, sent_.data(), elements_});
    Range const mine = range(messages_.rank());
    for (std::size_t rank = 0; rank < messages_.ranks(); ++rank) {
      Range const its = range(rank);
      std::span<Wire> const place(received_.data() + rank * mine.size, mine.size);
      if (rank == messages_.rank()) {
        std::copy_n(sent_.data() + mine.begin, mine.size, place.begin());
      } else {
        messages_.receive(rank, place, contributions);
        messages_.send(rank, std::span<Wire const>(sent_.data() + its.begin, its.size), contributions);
      }
    }
    messages_.wait();
    // The sums overwrite the contributions.
    loop("trireme::sum_encoded", kernels::SumEncoded<T, Wire>{received_.data(), messages_.ranks(), mine.size,
                                                              residual + mine.begin, sent_.data() + mine.begin});
    for (std::size_t rank = 0; rank < messages_.ranks(); ++rank) {
      if (rank == messages_.rank()) continue;
      Range const its = range(rank);
      messages_.receive(rank, std::span<Wire>(sent_.data() + its.begin, its.size), sums);
      messages_.send(rank, std::span<Wire const>(sent_.data() + mine.begin, mine.size), sums);
    }
    messages_.wait();
    loop("trireme::decode", kernels::Decode<T, Wire>{sent_.data(), gradients, elements_});
  }

 private:
  struct Range {
    std::size_t begin, size;
  };
  Range range(std::size_t rank) const {
    std::size_t const begin = elements_ * rank / messages_.ranks();
    return {begin, elements_ * (rank + 1) / messages_.ranks() - begin};
  }

  AllToAll messages_;
  std::size_t elements_;
  std::vector<Wire> sent_;
  std::vector<Wire> received_;
};

}  // namespace trireme
