target_sources(repmath_objects PRIVATE
  src/nn/loss/bce.c
  src/nn/cross_entropy/cancel.c
  src/nn/optim/clip_api.c
  src/nn/cross_entropy/api.c
  src/nn/cross_entropy/args.c
  src/nn/rows/accurate.c
  src/nn/formula/api.c
  src/nn/formula/args.c
  src/nn/formula/accurate.c
  src/nn/loss/kl_div.c
  src/nn/cross_entropy/logarithms.c
  src/nn/loss/api.c
  src/nn/loss/args.c
  src/nn/cross_entropy/nll_api.c
  src/nn/norm/direction.c
  src/nn/norm/normalize.c
  src/nn/norm/weight.c
  src/nn/norm/weight_partial.c
  src/nn/norm/api.c
  src/nn/norm/args.c
  src/nn/optim/api.c
  src/nn/optim/args.c
  src/nn/optim/accurate.c
  src/nn/pool/api.c
  src/nn/pool/args.c
  src/nn/rows/args.c
  src/nn/sample/api.c
  src/nn/sample/grid.c
  src/nn/rows/parallel.c
  src/nn/softmax/api.c
  src/nn/softmax/args.c
  src/nn/loss/dd_loss.c
  src/nn/loss/parts.c)
rm_isa_sources(src/nn/rows/kernels.c src/nn/rows/wide.c src/nn/loss/kernels.c src/nn/pool/kernels.c src/nn/sample/kernels.c)
# The accurate phase is most of the code of these files, and -O3 would unroll and duplicate it; the last file serves the few totals that those leave undecided.
set_source_files_properties(src/nn/norm/normalize.c src/nn/norm/weight.c src/nn/softmax/api.c src/nn/pool/api.c
  PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
rm_seldom(src/nn/rows/accurate.c src/nn/loss/api.c src/nn/cross_entropy/api.c src/nn/formula/accurate.c src/nn/optim/accurate.c)
set_source_files_properties(src/nn/loss/bce.c src/nn/loss/kl_div.c src/nn/cross_entropy/logarithms.c src/nn/sample/api.c src/nn/sample/grid.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
