// expect: trireme: a strategy's engine needs predict_step(batch, out)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_PREDICT_STEP
#endif
#include "own_strategy.hpp"
