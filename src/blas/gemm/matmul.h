/* Runs the matrix engines over blocks and threads. */
#pragma once

#include "views.h"

/* Solves a problem whose arguments have been checked. */
rm_status rm_matmul_run(const rm_matmul_problem *p);
