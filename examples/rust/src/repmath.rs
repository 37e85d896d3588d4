// The C functions that the example uses; add others after the same pattern.
pub const RM_OK: i32 = 0;
pub const RM_ROW_MAJOR: i32 = 101;
pub const RM_NO_TRANS: i32 = 111;

extern "C" {
    pub fn rm_exp_f64(x: f64) -> f64;
    pub fn rm_exp_f32(x: f32) -> f32;
    pub fn rm_vlog_f32(n: i64, x: *const f32, stride_x: isize, y: *mut f32, stride_y: isize) -> i32;
    pub fn rm_sum_f64(n: i64, x: *const f64, stride_x: isize, out: *mut f64) -> i32;
    pub fn rm_matmul_f32(
        layout: i32, trans_a: i32, trans_b: i32, m: i64, n: i64, k: i64, a: *const f32, lda: i64, b: *const f32, ldb: i64,
        bias: *const f32, c: *mut f32, ldc: i64,
    ) -> i32;
}
