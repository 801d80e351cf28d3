// expect: trireme: Clang 19 reads xtensor before 0.26 only with -fno-relaxed-template-template-args
// compiler: clang++-19 -frelaxed-template-template-args
#ifdef TRIREME_MUST_FAIL
#include "trireme/tensor/xtensor.hpp"
#endif
