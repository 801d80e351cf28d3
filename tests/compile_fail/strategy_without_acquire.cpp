// expect: trireme: a strategy's engine needs acquires_batches(), acquire(next) and release()
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_ACQUIRE
#endif
#include "own_strategy.hpp"
