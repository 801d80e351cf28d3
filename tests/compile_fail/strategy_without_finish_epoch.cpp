// expect: trireme: a strategy's engine needs finish_epoch()
#ifdef TRIREME_MUST_FAIL
#define WITHOUT_FINISH_EPOCH
#endif
#include "own_strategy.hpp"
