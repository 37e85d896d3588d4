// repmath from Rust. Prints each result's bits; they are the same on every machine.
mod repmath;

use repmath::*;

fn check(status: i32) {
    assert_eq!(status, RM_OK, "repmath: error {} in argument {}", status & 0xff, status >> 8);
}

fn main() {
    // Safe to call: the pointers and sizes below describe the arrays.
    unsafe {
        println!("exp_f64(1) {:016x}", rm_exp_f64(1.0).to_bits());
        println!("exp_f32(1) {:08x}", rm_exp_f32(1.0).to_bits());

        let x = [1.0f32, 2.0, 3.0];
        let mut y = [0f32; 3];
        check(rm_vlog_f32(3, x.as_ptr(), 4, y.as_mut_ptr(), 4));
        println!("log_f32(1 2 3) {:08x} {:08x} {:08x}", y[0].to_bits(), y[1].to_bits(), y[2].to_bits());

        let terms = [1e100f64, 1.0, -1e100, 0.5];
        let mut sum = 0f64;
        check(rm_sum_f64(4, terms.as_ptr(), 8, &mut sum));
        println!("sum_f64 {:016x}", sum.to_bits());

        let (a, b) = ([1f32, 2.0, 3.0, 4.0], [5f32, 6.0, 7.0, 8.0]);
        let mut c = [0f32; 4];
        check(rm_matmul_f32(
            RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 2, 2, 2, a.as_ptr(), 2, b.as_ptr(), 2, std::ptr::null(), c.as_mut_ptr(), 2,
        ));
        println!(
            "matmul_f32 {:08x} {:08x} {:08x} {:08x}",
            c[0].to_bits(), c[1].to_bits(), c[2].to_bits(), c[3].to_bits()
        );
    }
}
