/// Uniform: a value that is the same on every process of a communicator.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace trireme {

namespace detail {
template <class>
inline constexpr bool is_uniform_source = false;
struct UniformAccess;
}  // namespace detail

/// Result of a collective, so that every process may branch on it and all take the same branch.
///
/// No plain value converts to it: a decision that one process makes alone has to be agreed on first
/// (`Communicator::allreduce_or`, `run.agree`), since otherwise some processes would go on while others wait for them.
template <class T>
class Uniform {
 public:
  /// Compile-time error for a plain value, with a sentence: agree on it first.
  template <class U>
  Uniform(U const&) {
    static_assert(detail::is_uniform_source<U>,
                  "trireme: a value of one process is not Uniform; agree on it first, with "
                  "Communicator::allreduce_or, Communicator::allreduce_sum or run.agree");
  }
  /// Conversion from another type if the values convert: Uniform<float> to Uniform<double>.
  template <class U>
    requires(!std::same_as<U, T> && std::convertible_to<U const&, T>)
  Uniform(Uniform<U> const& other) : value_(static_cast<T>(other.value())) {}
  Uniform(Uniform const&) = default;
  Uniform& operator=(Uniform const&) = default;

  /// Value, the same on every process.
  T const& value() const { return value_; }
  operator T const&() const { return value_; }

  /// A value computed from uniform values alone is uniform: f(value of this, values of others...).
  template <class F, class... Others>
  auto map(F&& f, Uniform<Others> const&... others) const
      -> Uniform<std::remove_cvref_t<std::invoke_result_t<F, T const&, Others const&...>>>;

 private:
  friend struct detail::UniformAccess;
  struct Key {};
  Uniform(Key, T value) : value_(std::move(value)) {}

  T value_;
};

namespace detail {
/// Constructor of Uniform for collectives alone: their results are uniform because every process computes the same.
struct UniformAccess {
  template <class T>
  static Uniform<T> make(T value) {
    return Uniform<T>(typename Uniform<T>::Key{}, std::move(value));
  }
};
}  // namespace detail

template <class T>
template <class F, class... Others>
auto Uniform<T>::map(F&& f, Uniform<Others> const&... others) const
    -> Uniform<std::remove_cvref_t<std::invoke_result_t<F, T const&, Others const&...>>> {
  return detail::UniformAccess::make<std::remove_cvref_t<std::invoke_result_t<F, T const&, Others const&...>>>(
      std::forward<F>(f)(value_, others.value()...));
}

}  // namespace trireme
