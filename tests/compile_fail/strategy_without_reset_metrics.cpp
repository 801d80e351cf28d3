// expect: trireme: a strategy's engine needs reset_metrics(phase)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_RESET_METRICS
#endif
#include "own_strategy.hpp"
