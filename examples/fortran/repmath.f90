! Interfaces of the C functions that the example uses. Add others after the same pattern: strides and sizes are c_int64_t and
! c_ptrdiff_t, arrays are passed by address.
module repmath
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: rm_col_major = 102, rm_no_trans = 111
  integer(c_int32_t), parameter :: rm_ok = 0

  interface
    pure function rm_exp_f64(x) bind(c) result(y)
      import :: c_double
      real(c_double), value :: x
      real(c_double) :: y
    end function

    pure function rm_exp_f32(x) bind(c) result(y)
      import :: c_float
      real(c_float), value :: x
      real(c_float) :: y
    end function

    function rm_vlog_f32(n, x, stride_x, y, stride_y) bind(c) result(status)
      import :: c_int64_t, c_ptrdiff_t, c_float, c_int32_t
      integer(c_int64_t), value :: n
      integer(c_ptrdiff_t), value :: stride_x, stride_y
      real(c_float), intent(in) :: x(*)
      real(c_float), intent(out) :: y(*)
      integer(c_int32_t) :: status
    end function

    function rm_sum_f64(n, x, stride_x, total) bind(c) result(status)
      import :: c_int64_t, c_ptrdiff_t, c_double, c_int32_t
      integer(c_int64_t), value :: n
      integer(c_ptrdiff_t), value :: stride_x
      real(c_double), intent(in) :: x(*)
      real(c_double), intent(out) :: total
      integer(c_int32_t) :: status
    end function

    ! bias is an address so that it can be c_null_ptr: no such term.
    function rm_matmul_f32(layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc) bind(c) result(status)
      import :: c_int, c_int64_t, c_float, c_int32_t, c_ptr
      integer(c_int), value :: layout, trans_a, trans_b
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      real(c_float), intent(in) :: a(lda, *), b(ldb, *)
      type(c_ptr), value :: bias
      real(c_float), intent(inout) :: c(ldc, *)
      integer(c_int32_t) :: status
    end function
  end interface
end module
