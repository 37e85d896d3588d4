! repmath from Fortran. Prints each result's bits; they are the same on every machine.
!
!   gfortran repmath.f90 example.f90 $(pkg-config --libs repmath) -o example
program example
  use repmath
  implicit none
  real(c_float) :: x(3) = [1.0, 2.0, 3.0], y(3)
  real(c_double) :: terms(4) = [1d100, 1d0, -1d100, 0.5d0], total
  ! Fortran stores columns; these are the matrices [1 2; 3 4] and [5 6; 7 8].
  real(c_float) :: a(2, 2) = reshape([1.0, 3.0, 2.0, 4.0], [2, 2])
  real(c_float) :: b(2, 2) = reshape([5.0, 7.0, 6.0, 8.0], [2, 2])
  real(c_float) :: c(2, 2)

  print '(a, 1x, z16.16)', 'exp_f64(1)', transfer(rm_exp_f64(1d0), 0_c_int64_t)
  print '(a, 1x, z8.8)', 'exp_f32(1)', transfer(rm_exp_f32(1.0), 0_c_int32_t)
  if (rm_vlog_f32(3_c_int64_t, x, 4_c_ptrdiff_t, y, 4_c_ptrdiff_t) /= rm_ok) error stop
  print '(a, 3(1x, z8.8))', 'log_f32(1 2 3)', transfer(y, [0_c_int32_t])
  if (rm_sum_f64(4_c_int64_t, terms, 8_c_ptrdiff_t, total) /= rm_ok) error stop
  print '(a, 1x, z16.16)', 'sum_f64', transfer(total, 0_c_int64_t)
  if (rm_matmul_f32(rm_col_major, rm_no_trans, rm_no_trans, 2_c_int64_t, 2_c_int64_t, 2_c_int64_t, a, 2_c_int64_t, b, &
                    2_c_int64_t, c_null_ptr, c, 2_c_int64_t) /= rm_ok) error stop
  print '(a, 4(1x, z8.8))', 'matmul_f32', transfer(transpose(c), [0_c_int32_t])
end program
