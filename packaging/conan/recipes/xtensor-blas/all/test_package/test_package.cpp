#include <xtensor-blas/xlinalg.hpp>

int main() {
  xt::xtensor<double, 2> const a{{1, 2}, {3, 4}};
  auto const product = xt::linalg::dot(a, a);
  return product(1, 1) == 22 ? 0 : 1;
}
