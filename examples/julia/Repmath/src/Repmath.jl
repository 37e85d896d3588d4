"""
Correctly rounded functions and exact sums over the installed C library of repmath: the same bits on every machine.

Names are those of Base, so nothing is exported: call `Repmath.exp(x)`. Numbers and arrays are `Float32` or `Float64`; others are converted by
`float`, as Base's functions do, and a result has the type of its arguments.

The library is what the environment variable `REPMATH_LIBRARY` names, else that of `pkg-config repmath`, else what the loader finds.
"""
module Repmath

using Libdl: dlopen, dlsym

const ONE = [
    :acos, :acosh, :acospi, :asin, :asinh, :asinpi, :atan, :atanh, :atanpi, :cbrt, :cos, :cosh, :cospi, :digamma, :entr, :erf,
    :erfc, :erfcx, :erfinv, :exp, :exp10, :exp10m1, :exp2, :exp2m1, :expm1, :gelu, :gelu_tanh, :lgamma, :log, :log10, :log10p1,
    :log1p, :log2, :log2p1, :log_ndtr, :log_sigmoid, :ndtr, :ndtri, :rsqrt, :sigmoid, :silu, :sin, :sinh, :sinpi, :softplus,
    :sqrt, :tan, :tanh, :tanpi, :trigamma,
]
const TWO = [:add, :atan2, :betaln, :divide, :hypot, :logaddexp, :multiply, :pow, :subtract, :xlog1py, :xlogy]
const STATISTICS = [:sum, :mean, :norm]
# A type with the suffix of its functions and the number of its format.
const FORMATS = [(Float32, :f32, 2), (Float64, :f64, 3)]

const symbols = Dict{Symbol,Ptr{Cvoid}}()

function __init__()
    handle = dlopen(library())
    wanted = [Symbol(:rm_, name) for name in [STATISTICS; :status_message]]
    for (_, suffix, _) in FORMATS
        append!(wanted, [Symbol(start, name, :_, suffix) for start in (:rm_, :rm_v) for name in [ONE; TWO]])
        append!(wanted, [Symbol(:rm_, name, :_, suffix) for name in (:dot, :matmul)])
    end
    for name in wanted
        symbols[name] = dlsym(handle, name)
    end
end

function library()
    haskey(ENV, "REPMATH_LIBRARY") && return ENV["REPMATH_LIBRARY"]
    if Sys.which("pkg-config") !== nothing
        folder = readchomp(pipeline(ignorestatus(`pkg-config --variable=libdir repmath`), stderr = devnull))
        isempty(folder) || return joinpath(folder, "librepmath")
    end
    return "librepmath"
end

function check(status::Cint)
    status == 0 || throw(ArgumentError("repmath: " * unsafe_string(ccall(symbols[:rm_status_message], Cstring, (Cint,), status))))
end

dense(x::Array) = x
dense(x::AbstractArray) = Array(x)

# A type that the library lacks would be converted to itself for ever.
held(T::Type{<:Real}) = float(T) <: Union{Float32,Float64} ? float(T) : refuse(T)
refuse(T) = throw(ArgumentError("numbers of the type $T are not taken: Float32, Float64 and what `float` makes one of them are"))
held(x, y) = held(promote_type(eltype(x), eltype(y)))

for name in ONE
    @eval $name(x::Real) = $name(held(typeof(x))(x))
end
for name in [ONE; STATISTICS]
    @eval $name(x::AbstractArray{<:Real}) = $name(convert(AbstractArray{held(eltype(x))}, x))
end
for name in TWO
    @eval $name(x::Real, y::Real) = $name(held(x, y)(x), held(x, y)(y))
    @eval $name(x::AbstractArray{<:Real}, y::Real) = $name(x, fill(y))
    @eval $name(x::Real, y::AbstractArray{<:Real}) = $name(fill(x), y)
    @eval function $name(x::AbstractArray{<:Real}, y::AbstractArray{<:Real})
        T = held(x, y)
        return $name(convert(AbstractArray{T}, x), convert(AbstractArray{T}, y))
    end
end

for (name, kind) in ((:dot, AbstractVector), (:matmul, AbstractMatrix))
    @eval function $name(x::$kind{<:Real}, y::$kind{<:Real})
        T = held(x, y)
        return $name(convert($kind{T}, x), convert($kind{T}, y))
    end
end

for (T, suffix, format) in FORMATS
    bytes = sizeof(T)
    for name in ONE
        scalar, vector = QuoteNode(Symbol(:rm_, name, :_, suffix)), QuoteNode(Symbol(:rm_v, name, :_, suffix))
        @eval $name(x::$T) = ccall(symbols[$scalar], $T, ($T,), x)
        @eval function $name(x::AbstractArray{$T})
            from, out = dense(x), Array{$T}(undef, size(x))
            check(ccall(symbols[$vector], Cint, (Int64, Ptr{$T}, Cptrdiff_t, Ptr{$T}, Cptrdiff_t), length(x), from, $bytes, out, $bytes))
            return out
        end
    end
    for name in TWO
        scalar, vector = QuoteNode(Symbol(:rm_, name, :_, suffix)), QuoteNode(Symbol(:rm_v, name, :_, suffix))
        @eval $name(x::$T, y::$T) = ccall(symbols[$scalar], $T, ($T, $T), x, y)
        @eval function $name(x::AbstractArray{$T}, y::AbstractArray{$T})
            ndims(x) == 0 || ndims(y) == 0 || size(x) == size(y) ||
                throw(DimensionMismatch("the arrays have the sizes $(size(x)) and $(size(y))"))
            a, b, out = dense(x), dense(y), Array{$T}(undef, ndims(x) == 0 ? size(y) : size(x))
            # A number beside an array is read again for each element: its stride is 0.
            check(ccall(symbols[$vector], Cint,
                (Int64, Ptr{$T}, Cptrdiff_t, Ptr{$T}, Cptrdiff_t, Ptr{$T}, Cptrdiff_t),
                length(out), a, ndims(x) == 0 ? 0 : $bytes, b, ndims(y) == 0 ? 0 : $bytes, out, $bytes))
            return out
        end
    end
    for name in STATISTICS
        @eval function $name(x::AbstractArray{$T})
            from, out = dense(x), Ref{$T}()
            check(ccall(symbols[$(QuoteNode(Symbol(:rm_, name)))], Cint, (Cint, Int64, Ptr{$T}, Cptrdiff_t, Cint, Ptr{$T}),
                $format, length(x), from, $bytes, $format, out))
            return out[]
        end
    end
    @eval function dot(x::AbstractVector{$T}, y::AbstractVector{$T})
        length(x) == length(y) || throw(DimensionMismatch("the vectors have $(length(x)) and $(length(y)) elements"))
        a, b, out = dense(x), dense(y), Ref{$T}()
        check(ccall(symbols[$(QuoteNode(Symbol(:rm_dot_, suffix)))], Cint,
            (Int64, Ptr{$T}, Cptrdiff_t, Ptr{$T}, Cptrdiff_t, Ptr{$T}), length(x), a, $bytes, b, $bytes, out))
        return out[]
    end
    @eval function matmul(x::AbstractMatrix{$T}, y::AbstractMatrix{$T})
        m, k, n = size(x, 1), size(x, 2), size(y, 2)
        k == size(y, 1) || throw(DimensionMismatch("the matrices have the sizes $(size(x)) and $(size(y))"))
        a, b, c = dense(x), dense(y), Array{$T}(undef, m, n)
        check(ccall(symbols[$(QuoteNode(Symbol(:rm_matmul_, suffix)))], Cint,
            (Cint, Cint, Cint, Int64, Int64, Int64, Ptr{$T}, Int64, Ptr{$T}, Int64, Ptr{$T}, Ptr{$T}, Int64),
            102, 111, 111, m, n, k, a, max(m, 1), b, max(k, 1), C_NULL, c, max(m, 1)))
        return c
    end
end

@doc "The exact sum of all elements, rounded once." sum
@doc "The exact mean of all elements, rounded once." mean
@doc "The root of the exact sum of squares, rounded once." norm
@doc "The exact sum of products of two vectors, rounded once." dot
@doc "The product of two matrices: each element the exact sum of products, rounded once." matmul

end
