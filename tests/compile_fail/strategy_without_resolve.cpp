// expect: trireme: a strategy's engine needs resolve(requests)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_RESOLVE
#endif
#include "own_strategy.hpp"
