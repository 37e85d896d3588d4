#include "slow.h"

#include "../../crlibm/erf/erf_slow.h"
#include "../../crlibm/exp/exp_slow.h"
#include "../../crlibm/log/log_slow.h"
#include "../../crlibm/tanh/tanh_slow.h"

#if RM_DEVICE
RM_LOCAL
#endif
rm_slow_fn *const rm_slow_table[RM_FN_COUNT] = { /* in the order of the manifest, as RM_FN_<name> is */
#define RM_FUNCTION(name, NAME, hard, doc) rm_##name##_slow,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};
