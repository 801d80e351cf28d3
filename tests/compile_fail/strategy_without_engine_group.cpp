// expect: trireme: a strategy's engine needs group()
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_GROUP_OF_ENGINE
#endif
#include "own_strategy.hpp"
