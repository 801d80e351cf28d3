// expect: trireme: a strategy's engine needs metrics(phase)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_METRICS
#endif
#include "own_strategy.hpp"
