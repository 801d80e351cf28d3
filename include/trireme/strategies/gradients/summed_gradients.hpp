/// SummedGradients: the synchronization of data parallelism that adds gradients up as they are.
#pragma once

#include <type_traits>

#include "trireme/strategies/gradients/gradient_buckets.hpp"
#include "trireme/strategies/gradients/no_sparse_gradients.hpp"
#include "trireme/strategies/gradients/sparse_gradients.hpp"

namespace trireme {

namespace detail {

/// False where a model says that none of its layers has a table of which steps touch some rows only.
template <class Model>
inline constexpr bool may_have_tables = true;
template <class Model>
  requires requires { Model::has_tables; }
inline constexpr bool may_have_tables<Model> = Model::has_tables;

}  // namespace detail

/// The synchronization that adds gradients up as they are.
template <class Model, class Space, class Group, class T = typename Model::scalar>
using SummedGradients = GradientBuckets<
    T, Space, Group,
    std::conditional_t<detail::may_have_tables<Model>, SparseGradients<T, Space, Group>, NoSparseGradients>>;

}  // namespace trireme
