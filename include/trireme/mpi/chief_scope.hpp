/// Work that the chief (rank 0) does alone, such as writing files and talking to the user.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace trireme {

namespace detail {
template <class T>
struct ReachesCommunicator;
struct ChiefAccess;
}  // namespace detail

/// A type through which a collective could be called: it has a member `communicator()` or an alias
/// `holds_communicator`, its `group()` is such a type, as that of a strategy, or it refers to one as a pointer does.
template <class T>
concept HoldsCommunicator = detail::ReachesCommunicator<std::remove_cvref_t<T>>::value;

/// Argument of work for the chief alone, in place of a communicator. It holds none, so that a collective, which would
/// wait forever for the other processes, does not compile there.
class ChiefScope {
 public:
  ChiefScope(ChiefScope const&) = delete;
  ChiefScope& operator=(ChiefScope const&) = delete;

 private:
  friend struct detail::ChiefAccess;
  ChiefScope() = default;
};

namespace detail {
template <class T>
    struct ReachesCommunicator : std::bool_constant < requires(T& object) {
  object.communicator();
} || requires { typename T::holds_communicator; } ||
    requires(T& object) { requires ReachesCommunicator<std::remove_cvref_t<decltype(object.group())>>::value; }>{};
template <class T>
struct ReachesCommunicator<T*> : ReachesCommunicator<std::remove_cv_t<T>> {};
template <class T>
struct ReachesCommunicator<std::reference_wrapper<T>> : ReachesCommunicator<std::remove_cv_t<T>> {};
template <class T>
struct ReachesCommunicator<std::shared_ptr<T>> : ReachesCommunicator<std::remove_cv_t<T>> {};
template <class T, class D>
struct ReachesCommunicator<std::unique_ptr<T, D>> : ReachesCommunicator<std::remove_cv_t<T>> {};

template <class F>
inline constexpr bool is_stateless =
    std::is_empty_v<std::remove_cvref_t<F>> || std::is_function_v<std::remove_pointer_t<std::remove_cvref_t<F>>>;

/// Makes the scope; for Communicator and for strategies of a single process.
struct ChiefAccess {
  template <class F, class... Arguments>
  static constexpr bool require_no_communicator() {
    static_assert(is_stateless<F>,
                  "trireme: work for the chief alone may not reach a communicator, since a collective there would "
                  "hang; give it no captures, and pass what it needs as arguments");
    static_assert(!(HoldsCommunicator<Arguments> || ...),
                  "trireme: work for the chief alone may not reach a communicator, since a collective there would "
                  "hang");
    return true;
  }

  template <class F, class... Arguments>
  static decltype(auto) run(F&& f, Arguments&&... arguments) {
    static_assert(require_no_communicator<F, Arguments...>());
    ChiefScope const scope;
    return std::forward<F>(f)(scope, std::forward<Arguments>(arguments)...);
  }
};
}  // namespace detail

}  // namespace trireme
