"""Which of PyTorch's OpInfos reproducible() does not cover, and what is known of those that it does."""

from repmath.torch._aten.table import lines

# Their samples call operators that are not in the table: decompositions.
OUTSIDE = """
linalg.eig linalg.eigvals
""".split()  # noqa: SIM905

# No samples of float32 that the CPU takes, or sparse tensors (torch/test_sparse.py).
WITHOUT_SAMPLES = """
__rand__ __ror__ __rxor__ bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd imag istft
jiterator_2inputs_2outputs jiterator_4inputs_with_extra_args jiterator_binary jiterator_binary_return_by_ref jiterator_unary lcm
nn.functional.batch_norm[without_cudnn] nn.functional.one_hot nn.functional.silu[complex] torch._scaled_mm torch._scaled_mm_v2
to_sparse torch.ops.aten._efficient_attention_forward torch.ops.aten._flash_attention_forward tril_indices triu_indices unravel_index
view_as_real sparse.mm[reduce] sparse.sampled_addmm
""".split()  # noqa: SIM905

# Random, or not initialised: of these the shape and the format are compared.
ANY_NUMBERS = """
bernoulli empty empty_like empty_permuted empty_strided exponential multinomial new_empty new_empty_strided nn.functional.alpha_dropout
nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.feature_alpha_dropout[with_train]
nn.functional.multi_head_attention_forward normal normal[in_place] normal[number_mean] rand_like randint randint_like randn randn_like
uniform log_normal geometric cauchy nn.functional.rrelu nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d
""".split()  # noqa: SIM905

# Samples that are refused, and why.
REFUSED = {
    "nn.functional.linear_cross_entropy[chunked]": "torch_nn._linear_cross_entropy",
    "nn.functional.linear_cross_entropy[chunked_none]": "torch_nn._linear_cross_entropy",
    "scatter": "reduce='multiply'",
}

# What PyTorch, or the table, composes of functions with a rounding each: of these each operator is compared. Those that are not here are
# rounded once.
COMPOSED = """
__rdiv__ cov histogram histogramdd corrcoef cumulative_trapezoid diff dist einsum gradient linalg.matrix_power linalg.multi_dot linalg.vecdot
masked.mean masked.normalize masked.std masked.var nanmean nn.functional.binary_cross_entropy
nn.functional.cosine_embedding_loss nn.functional.cosine_similarity nn.functional.gaussian_nll_loss
nn.functional.hinge_embedding_loss nn.functional.interpolate[bilinear] nn.functional.interpolate[linear]
nn.functional.interpolate[trilinear] nn.functional.l1_loss nn.functional.linear_cross_entropy
nn.functional.linear_cross_entropy[chunked] nn.functional.linear_cross_entropy[chunked_none] nn.functional.local_response_norm
nn.functional.margin_ranking_loss nn.functional.mish nn.functional.multilabel_soft_margin_loss nn.functional.normalize
nn.functional.pairwise_distance nn.functional.poisson_nll_loss nn.functional.scaled_dot_product_attention nn.functional.selu
nn.functional.softsign nn.functional.tanhshrink nn.functional.triplet_margin_loss
nn.functional.triplet_margin_with_distance_loss nn.functional.upsample_bilinear tensordot trapezoid trapz xlogy
signal.windows.bartlett signal.windows.blackman signal.windows.cosine signal.windows.exponential signal.windows.gaussian
signal.windows.general_cosine signal.windows.general_hamming signal.windows.hamming signal.windows.hann signal.windows.kaiser signal.windows.nuttall
sinc logaddexp2 logcumsumexp logspace logspace[tensor_overload] nn.functional.soft_margin_loss nn.functional.multi_margin_loss
nn.functional.multilabel_margin_loss renorm nn.functional.embedding nn.functional.bilinear nn.functional.interpolate[bicubic]
_upsample_bilinear2d_aa nn.functional.ctc_loss cholesky cholesky_inverse cholesky_solve linalg.cholesky linalg.cholesky_ex linalg.det
linalg.inv linalg.inv_ex linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.slogdet linalg.solve linalg.solve_ex
linalg.solve_triangular linalg.tensorinv linalg.tensorsolve logdet lu lu_solve lu_unpack triangular_solve fft.hfft2 fft.hfftn
mvlgamma[mvlgamma_p_1] mvlgamma[mvlgamma_p_3] mvlgamma[mvlgamma_p_5]
linalg.cond linalg.eigh linalg.eigvalsh linalg.householder_product linalg.lstsq linalg.lstsq[grad_oriented] linalg.pinv linalg.pinv[hermitian]
linalg.pinv[singular] linalg.qr linalg.svd linalg.svdvals matrix_exp norm[nuc] ormqr pca_lowrank pinverse qr svd svd_lowrank geqrf polar
linalg.matrix_norm linalg.norm linalg.norm[subgradients_at_zero] linalg.matrix_rank linalg.matrix_rank[hermitian]
""".split()  # noqa: SIM905
# What PyTorch computes with a larger error in binary64 than the comparison allows: each operator is compared with its exact value alone.
INEXACT = [f"polygamma[polygamma_n_{n}]" for n in range(5)] + ["special.polygamma[special_polygamma_n_0]"]
INEXACT += [f"special.{n}" for n in ("bessel_j0 bessel_j1 bessel_y0 bessel_y1 airy_ai").split()]
# Gradients that are one operator of the table, of the arguments: all others are composed, of the rounded result or of several operators.
GRADIENT_COMPOSED = (
    """
acos acosh mul addmm addmv addbmm baddbmm addr addcmul addcdiv asin asinh atan atan2 atanh combinations cos cosh cross div[no_rounding_mode]
true_divide exp fmod remainder log1p log10 log2 ldexp logaddexp var_mean var_mean[unbiased] std_mean std_mean[unbiased] quantile nanquantile
softmax nn.functional.softmin native_group_norm nn.functional.binary_cross_entropy_with_logits nn.functional.instance_norm
nn.functional.pad[circular] nn.functional.elu nn.functional.prelu nn.functional.celu torch.ops.aten._safe_softmax.default
nn.functional.hardsigmoid outer pow sin sinh __rmul__ __rmod__ __rpow__ tan tanh exp2 expm1 reciprocal rsqrt sqrt lerp hypot repeat
take_along_dim tile logsumexp kron sigmoid erf erfc erfinv log_softmax norm norm[fro] std std[unbiased] var var[unbiased] linalg.cross
linalg.norm linalg.matrix_norm linalg.vector_norm special.xlog1py special.entr special.ndtr special.ndtri special.erfcx special.log_ndtr masked.norm masked.softmax masked.log_softmax
masked.softmin masked.logaddexp masked.logsumexp prod cumprod masked.cumprod masked.prod linalg.vander logcumsumexp cdist
nn.functional.pdist lgamma stft fft.ihfft2 fft.ihfftn nn.functional.embedding_bag nn.functional.grid_sample grid_sampler_2d grid_sampler_3d nn.functional.kl_div
""".split()
    + [
        "digamma",
        "index_reduce[prod]",
        "scatter_reduce[prod]",
        "i0",
        "special.i0e",
        "special.i1",
        "special.i1e",
        "igamma",
        "igammac",
        "special.zeta",
    ]
    + COMPOSED
    + INEXACT
)  # noqa: SIM905
# The forward pass is covered, these gradients are not.
WITHOUT_GRADIENT = ()

# Functions of the table that the backward passes of samples reach, and no forward pass; or a test beside them.
BY_GRADIENTS = """
_upsample_bilinear2d_aa_backward _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward
_upsample_nearest_exact3d_backward adaptive_avg_pool2d_backward adaptive_avg_pool3d_backward attention_backward
avg_pool2d_backward avg_pool3d_backward batch_norm_backward batch_norm_of_update_backward batch_norm_without_running binary_cross_entropy_backward
binary_cross_entropy_with_logits cdist_backward col2im convolution_backward elu_backward embedding_bag_backward
embedding_bag_weights_backward embedding_dense_backward fractional_max_pool2d_backward fractional_max_pool3d_backward gelu_backward glu_backward group_norm_backward hardsigmoid_backward
hardswish_backward hardtanh_backward huber_loss_backward layer_norm_backward leaky_relu_backward log_sigmoid_backward
log_softmax_backward logit_backward max_pool3d_backward mish_backward mse_loss_backward multi_margin_loss_backward
multilabel_margin_loss_backward nll_loss_backward pdist_backward prelu_backward reflection_pad1d_backward
reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward
replication_pad3d_backward rrelu_with_noise_backward scaled_softplus_backward segment_reduce_backward sigmoid_backward silu_backward
smooth_l1_loss_backward soft_margin_loss_backward softshrink_backward tanh_backward threshold_backward unfold_backward
upsample_bicubic2d_backward upsample_bilinear2d_backward upsample_linear1d_backward upsample_nearest1d_backward
upsample_nearest2d_backward upsample_nearest3d_backward upsample_trilinear3d_backward
""".split()  # noqa: SIM905
# Functions of the table without a definition in aten_exact.py and its like, by the test that compares their bits.
ELSEWHERE = {
    name: test
    for test, functions in {
        "torch/test_images.py": "grid_sampler grid_sampler_backward _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward affine_grid",
        "torch/test_alignments.py": "ctc_loss ctc_loss_backward",
        "torch/test_chains.py": "weight_norm weight_norm_backward embedding_renorm allclose",
        "test_other_forms": "linear scatter_with",
        "torch/test_mode.py": "fused_adam fused_adamw fused_sgd",
        "torch/test_optimizers.py": "fused_adagrad unscale update_scale",
        "torch/test_experts.py": "grouped_mm bincount batch_norm_without_training histogram_of_edges",
        "torch/test_linear_algebra.py": "cholesky_ex cholesky cholesky_solve cholesky_inverse linalg_solve_triangular triangular_solve "
        "linalg_lu_factor_ex linalg_lu linalg_lu_solve linalg_solve_ex linalg_inv_ex linalg_det linalg_slogdet "
        "linalg_ldl_factor_ex linalg_ldl_solve",
        "torch/test_decompositions.py": "geqrf linalg_qr linalg_householder_product ormqr linalg_eigh linalg_svd linalg_pinv linalg_lstsq matrix_exp",
        "torch/test_complex.py": "polar vdot",
        "torch/test_fake_quantize.py": "fake_quantize fake_quantize_by_tensors fake_quantize_channels",
        "torch/test_fourier.py": "fft_c2c fft_r2c fft_c2r",
        "torch/test_grouped.py": "histogramdd_of_edges",
        "torch/test_polynomials.py": "polygamma_into",
        "torch/test_rejections.py": "standard_gamma_grad dirichlet_grad",
        "torch/test_ranges.py": "hann_window hamming_window blackman_window bartlett_window kaiser_window",
    }.items()
    for name in functions.split()
}
# Operators on lists have the bits of the operators on each tensor.
LISTS = [line for line in lines() if line.function.startswith("foreach_")]
ELSEWHERE |= {line.function: "test_lists" for line in LISTS}

# Covered operators that no OpInfo's samples call on the CPU, by the test that has them.
_POLYNOMIALS = ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
_POLYNOMIALS += [f"{kind}chebyshev_polynomial_{c}" for kind in ("", "shifted_") for c in "tuvw"]
UNREACHED = {
    "torch/test_grouped.py": ["_histogramdd_from_bin_tensors.default"],
    "torch/test_rejections.py": """
_dirichlet_grad.default _sample_dirichlet.default _standard_gamma.default _standard_gamma_grad.default binomial.default poisson.default
""".split(),
    "torch/test_polynomials.py": [f"special_{name}.{form}_scalar" for name in _POLYNOMIALS for form in "xn"],
    "torch/test_ranges.py": """
hann_window.default hann_window.periodic hamming_window.default hamming_window.periodic hamming_window.periodic_alpha
hamming_window.periodic_alpha_beta blackman_window.default blackman_window.periodic bartlett_window.default bartlett_window.periodic
kaiser_window.default kaiser_window.periodic kaiser_window.beta
""".split(),
    "torch/test_special.py": ["special_zeta.other_scalar", "special_zeta.self_scalar"],
    "test_lists": [line.name for line in LISTS],
    "test_numbers_in_place_of_tensors": """
clamp_max.default clamp_max_.default div.Scalar_mode div_.Scalar_mode floor_divide.Scalar floor_divide_.Scalar fmod.Scalar fmod_.Scalar
remainder.Scalar_Tensor remainder_.Scalar sub_.Scalar xlogy.Scalar_Other xlogy.Scalar_Self xlogy_.Scalar_Other
""".split(),
    "test_other_forms": """
_index_put_impl_.default _unsafe_index_put.default gelu_.default hardswish_.default hardtanh_.default linear.default norm.Scalar
norm.ScalarOpt_dim_dtype scatter.reduce scatter.value_reduce scatter_.reduce scatter_.value_reduce
""".split(),
    "test_random_operators": """
bernoulli.p bernoulli_.Tensor normal.float_Tensor rand.generator rand_like.default randint.generator randint.low
randint.low_generator randint_like.low_dtype randn.generator randperm.default randperm.generator native_dropout.default
""".split(),
    "torch/test_chains.py": """
_embedding_bag_forward_only.default embedding_renorm_.default _weight_norm_interface.default _weight_norm_interface_backward.default
""".split(),
    "torch/test_images.py": """
_upsample_bicubic2d_aa.default _upsample_bicubic2d_aa_backward.default affine_grid_generator.default
""".split(),
    "torch/test_experts.py": """
_grouped_mm.default bincount.default histogram.bins_tensor _native_batch_norm_legit_no_training.default
""".split(),
    "torch/test_optimizers.py": """
_fused_adagrad_.default _fused_adagrad_.tensor_lr _amp_foreach_non_finite_check_and_unscale_.default _amp_update_scale_.default
""".split(),
    "torch/test_fake_quantize.py": """
fake_quantize_per_tensor_affine_cachemask.default _fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default
fake_quantize_per_channel_affine_cachemask.default
""".split(),
    "test_models_train_strictly in torch/test_mode.py": """
_fused_adam_.default _fused_adam_.tensor_lr _fused_adamw_.default _fused_adamw_.tensor_lr _fused_sgd_.default _fused_sgd_.tensor_lr
""".split(),
}
