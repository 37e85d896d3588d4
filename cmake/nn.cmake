target_sources(repmath_objects PRIVATE
  src/nn/bce.c
  src/nn/cancel.c
  src/nn/clip.c
  src/nn/clip_slow.c
  src/nn/cross_entropy.c
  src/nn/cross_entropy_job.c
  src/nn/decide.c
  src/nn/exp_row.c
  src/nn/formulas.c
  src/nn/formulas_job.c
  src/nn/formulas_slow.c
  src/nn/kl_div.c
  src/nn/logarithms.c
  src/nn/losses.c
  src/nn/losses_job.c
  src/nn/nll.c
  src/nn/nll_job.c
  src/nn/normalize.c
  src/nn/normalize_weight.c
  src/nn/norms.c
  src/nn/norms_job.c
  src/nn/optimizers.c
  src/nn/optimizers_job.c
  src/nn/optimizers_slow.c
  src/nn/pooling.c
  src/nn/pooling_job.c
  src/nn/row_apart.c
  src/nn/row_loop.c
  src/nn/softmax.c
  src/nn/softmax_job.c
  src/nn/totals.c
  src/nn/wide_loss.c
  src/nn/wide_loss_job.c)
rm_isa_sources(src/nn/kernels.c src/nn/loss_kernels.c src/nn/pool_kernels.c)
# Slow tiers are most of the code of these files, and -O3 would unroll and duplicate it; the last file serves the few totals that those leave undecided.
set_source_files_properties(src/nn/bce.c src/nn/cross_entropy.c src/nn/formulas_slow.c src/nn/kl_div.c src/nn/normalize.c
  src/nn/normalize_weight.c src/nn/optimizers_slow.c src/nn/softmax.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
set_source_files_properties(src/nn/logarithms.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
