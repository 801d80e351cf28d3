// expect: trireme: a strategy's engine needs model()
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_MODEL
#endif
#include "own_strategy.hpp"
