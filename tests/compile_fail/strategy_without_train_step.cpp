// expect: trireme: a strategy's engine needs train_step(batch)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_TRAIN_STEP
#endif
#include "own_strategy.hpp"
