// expect: trireme: a strategy's engine needs the types Model, T
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_TYPES
#endif
#include "own_strategy.hpp"
