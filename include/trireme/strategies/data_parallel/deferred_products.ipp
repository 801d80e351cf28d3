/// Instances of trireme/strategies/data_parallel/deferred_products.hpp, in the library alone.
#pragma once

#include "trireme/strategies/data_parallel/deferred_products.hpp"

#include "trireme/strategies/data_parallel/operand_copies.hpp"
#include "trireme/strategies/data_parallel/product_list.hpp"

#ifdef TRIREME_COMPILED
namespace trireme {

template struct ProductList<float>;
template struct ProductList<double>;
template class OperandCopies<float>;
template class OperandCopies<double>;
template class DeferredProducts<float>;
template class DeferredProducts<double>;

}  // namespace trireme
#endif
