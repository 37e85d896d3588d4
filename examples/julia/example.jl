# Prints the lines of the other examples. Run it with the package in the load path: julia --project=examples/julia/Repmath example.jl
import Repmath

bits(x::Float64) = string(reinterpret(UInt64, x), base = 16, pad = 16)
bits(x::Float32) = string(reinterpret(UInt32, x), base = 16, pad = 8)

println("exp_f64(1) ", bits(Repmath.exp(1.0)))
println("exp_f32(1) ", bits(Repmath.exp(1.0f0)))
println("log_f32(1 2 3) ", join(bits.(Repmath.log(Float32[1, 2, 3])), " "))
println("sum_f64 ", bits(Repmath.sum([1e100, 1, -1e100, 0.5])))
c = Repmath.matmul(Float32[1 2; 3 4], Float32[5 6; 7 8])
println("matmul_f32 ", join(bits.(vec(permutedims(c))), " "))
