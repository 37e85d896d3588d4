/* The vector sums, compiled once per ISA. */
#include "kernels.h"
#include "cells.h"
#include "chains.h"
#include "classes.h"
#include "segment.h"

const struct rm_reduce_kernels RM_ISA_SYMBOL(rm_reduce_table) = {
    rm_plain,
    rm_compensated,
    rm_deviations,
    rm_multiples,
    {rm_segment_f16, rm_segment_bf16, rm_segment_f32, rm_segment_f64},
    {rm_cells_f16, rm_cells_bf16, rm_cells_f32, rm_cells_f64},
    {rm_classes_f16, rm_classes_bf16, rm_classes_f32, rm_classes_f64}};
