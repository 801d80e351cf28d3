#include <Kokkos_Core.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  long sum = 0;
  Kokkos::parallel_reduce(
      "sum", 1000, KOKKOS_LAMBDA(long i, long& partial) { partial += i; }, sum);
  return sum == 499500 ? 0 : 1;
}
