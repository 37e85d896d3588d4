"""What ptxas reports of kernels is held to limits (tools/ptxas_gate.py): here of a few files, and of kernels that are over each limit."""

import pathlib
import sys
import tempfile

import pytest
from native import ROOT, need

sys.path.insert(0, str(ROOT / "tools"))
import ptxas_gate  # noqa: E402

# A first kernel with a kilobyte of stack, a product whose sums have no registers, one of words that loads bytes, and two whose words are 16 bytes,
# one of which stores 4.
OVER = """
__global__ void deep(int *out, int k) {
  int many[256];
  for (int i = 0; i < 256; i++) many[i] = out[i] * k;
  for (int i = 0; i < 256; i++) out[i] = many[many[i] & 255];
}
__global__ void __launch_bounds__(1024, 2) dense_kernel(double *out, const double *x) {
  double sum[64];
  for (int i = 0; i < 64; i++) sum[i] = 0.0;
  for (int k = 0; k < 1000; k++)
#pragma unroll
    for (int i = 0; i < 64; i++) sum[i] += x[k] * x[k + i];
  for (int i = 0; i < 64; i++) out[i] = sum[i];
}
__global__ void words_kernel(float *out, const char *x) {
  float v;
  __builtin_memcpy(&v, x + 4 * threadIdx.x, 4);
  out[threadIdx.x] = v;
}
__global__ void step_kernel(float4 *out, const float4 *x) {
  const float4 v = x[threadIdx.x];
  out[threadIdx.x] = float4{v.x * v.x, v.y * v.y, v.z * v.z, v.w * v.w};
}
__global__ void shared_kernel(float *out, const double2 *x) {
  out[threadIdx.x] = float(x[threadIdx.x].x * x[threadIdx.x].y);
}
"""


@pytest.mark.parametrize("architecture", ptxas_gate.ARCHITECTURES)
def test_kernels_are_within_the_limits(architecture):
    """Totals of threads' accumulators, which were larger than any stack should be, and fast phases of rows. Problems of norms' weights are larger
    than others': a copy of them for each thread was too deep on sm_120 alone."""
    need("nvcc")
    with tempfile.TemporaryDirectory() as folder:
        words = ptxas_gate.compiled(ptxas_gate.elementwise("sqrt", pathlib.Path(folder)), architecture)
    assert sum("words_kernel" in k.name for k in words) == 4
    assert {k.name: ptxas_gate.faults(k) for k in words if ptxas_gate.faults(k)} == {}
    for name in {80: ("clip", "sgd"), 90: ("clip", "softmax"), 120: ("sgd", "norms")}[architecture]:
        kernels = ptxas_gate.compiled(ROOT / f"src/cuda/{name}.cu", architecture)
        assert len(kernels) >= 2
        assert {k.name: ptxas_gate.faults(k) for k in kernels if ptxas_gate.faults(k)} == {}


def test_kernels_over_the_limits_are_seen(tmp_path):
    """The control."""
    need("nvcc")
    source = tmp_path / "over.cu"
    source.write_text(OVER)
    found = {k.name.split("(")[0]: " ".join(ptxas_gate.faults(k)) for k in ptxas_gate.compiled(source, 90)}
    assert (
        "a stack of 1" in found["deep"] and "spills" in found["dense_kernel"] and "single bytes" in found["words_kernel"]
    ), found
    assert "0 loads and 0 stores of 16 bytes" in found["words_kernel"]
    assert found["step_kernel"] == "" and found["shared_kernel"] == "1 loads and 0 stores of 16 bytes"
