/* The vector loops of composite operators, formulas and optimiser steps, compiled once per ISA. */
#include "kernels.h"
#include "../optim/clip_step.h"
#include "../formula/convert.h"
#include "../formula/gate.h"
#include "../formula/loop.h"
#include "../formula/odd.h"
#include "../formula/quick.h"
#include "../optim/loop.h"
#include "loops.h"
#include "../norm/direction.h"
#if RM_LANES >= 4
#include "../softmax/columns.h"
#endif

extern const struct rm_loss_kernels RM_ISA_SYMBOL(rm_loss_table);
extern const struct rm_pool_kernels RM_ISA_SYMBOL(rm_pool_table);
extern const struct rm_sample_kernels RM_ISA_SYMBOL(rm_sample_table);
extern const struct rm_wide_kernels RM_ISA_SYMBOL(rm_wide_table);
const struct rm_nn_kernels RM_ISA_SYMBOL(rm_nn_table) = {
    rm_row_load,
    rm_row_max,
    rm_row_exponentials,
    rm_row_moments,
    rm_row_weighted,
    rm_row_gradients,
    rm_row_columns,
    rm_row_round,
    rm_direction_sums,
    rm_direction_store,
#if RM_LANES >= 4
    rm_columns_of,
#else
    NULL,
#endif
    {rm_sgd_f16, rm_sgd_bf16, rm_sgd_f32, rm_sgd_f64},
    {rm_adam_f16, rm_adam_bf16, rm_adam_f32, rm_adam_f64},
    {rm_clip_f16, rm_clip_bf16, rm_clip_f32, rm_clip_f64},
    {rm_quick_formula_f16, rm_quick_formula_bf16, rm_quick_formula_f32, rm_formula_f64},
    rm_quick_formula_odd,
    rm_convert_elements,
    rm_gate,
    &RM_ISA_SYMBOL(rm_loss_table),
    &RM_ISA_SYMBOL(rm_pool_table),
    &RM_ISA_SYMBOL(rm_sample_table),
    &RM_ISA_SYMBOL(rm_wide_table),
};
