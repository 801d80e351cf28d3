// expect: trireme: a strategy's engine needs test_step(batch)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_TEST_STEP
#endif
#include "own_strategy.hpp"
