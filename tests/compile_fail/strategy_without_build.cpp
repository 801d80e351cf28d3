// expect: trireme: a strategy needs build(model, plan)
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_BUILD
#endif
#include "own_strategy.hpp"
