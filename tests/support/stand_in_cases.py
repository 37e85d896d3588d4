"""What tests/torch/test_devices.py has run in a process of its own: python stand_in_cases.py CASE ... prints a line of JSON, of each case what
it raised, or null. The device is that of stand_in.py."""

import json
import pathlib
import sys
import traceback
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = "standin"


def same(a, b):
    import torch

    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
        flat = [t.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format) for t in (a, b)]
        numbers = [t.view(torch.uint8) for t in flat]
        assert not a.numel() or torch.equal(*numbers), (a, b)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b or a != a, (a, b)


def block(strict=True):
    import repmath.torch

    return repmath.torch.reproducible(strict)


def raised(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"{kind.__name__} was not raised")


class Lines:
    def __init__(self):
        self.wrong, self.failed, self.lines = 0, 0, []

    def line(self, text):
        self.lines.append(text)


def launches():
    """Whether the library for the device is there."""
    from repmath.torch._aten import devices

    return devices._is_there()


def network(name):
    """A network of the stage `models` has one digest on both."""
    import gpu_models

    report = Lines()
    gpu_models.compare(report, name, DEVICE, True)
    assert report.wrong == 0 and "one digest" in report.lines[0], report.lines
    return report.lines


# Operators of networks that the library for the device has functions of: a step must not take them to main memory. The gradient of an embedding
# with an index of padding, as BERT has, is not among them.
FOR_THE_DEVICE = {
    f"{name}.default"
    for name in """addmm mm bmm native_layer_norm native_layer_norm_backward _softmax _softmax_backward_data gelu gelu_backward silu
    silu_backward rsqrt embedding""".split()
} | {"add.Tensor", "mul.Tensor", "mean.dim", "pow.Tensor_Scalar"}


def elsewhere(lines):
    """The operators that the second last line of a network names, which were computed in main memory."""
    return {part.split()[0] for part in lines[-1].split(": ")[-1].split(", ") if part}


def case_lenet():
    assert elsewhere(network("lenet")) == set() or not launches()


def case_resnet18():
    assert elsewhere(network("resnet18")) == set() or not launches()


def case_gpt2():
    assert elsewhere(network("gpt2")) == set() or not launches()


def case_gpt2_fused():
    assert elsewhere(network("gpt2 fused")) == set() or not launches()


def case_transformers():
    network("transformers")


def case_bert():
    assert not elsewhere(network("bert")) & FOR_THE_DEVICE or not launches()


def case_llama():
    assert not elsewhere(network("llama")) & FOR_THE_DEVICE or not launches()


def case_checkpoints():
    """The forward pass is computed again in a thread of PyTorch's: dropout and cross entropy are those of the block there, too."""
    import torch
    from torch.utils.checkpoint import checkpoint

    made = []
    for device in ("cpu", DEVICE):
        with block():
            torch.manual_seed(4)
            layer = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.4), torch.nn.LayerNorm(6)).to(device)
            x, y = torch.randn(5, 6).to(device).requires_grad_(), torch.tensor([1, 2, 0, 5, 3]).to(device)

            def run(x, layer=layer, y=y):
                return torch.nn.functional.cross_entropy(layer(x), y)

            loss = checkpoint(run, x, use_reentrant=False)
            loss.backward()
            made.append([loss, x.grad, *(p.grad for p in layer.parameters())])
    same(*made)


def case_a_wrong_function_is_seen():
    """The control of the comparison above: with a product that is one too large the digests part, and the operator is named."""
    import gpu_models
    import torch

    from repmath.torch._aten import devices

    staged, report = devices.staged, Lines()

    def wrong(again, func, *rest):
        made = staged(again, func, *rest)
        return made + 1 if func is torch.ops.aten.addmm.default else made

    devices.staged = wrong
    call, devices.computed = devices.computed, lambda *_: NotImplemented
    try:
        gpu_models.compare(report, "lenet", DEVICE, True)
    finally:
        devices.staged, devices.computed = staged, call
    assert report.wrong == 1 and "call 0 of aten.addmm.default differs" in report.lines[-1], report.lines


def case_results_and_arguments():
    """New tensors, in place, with out=, of views of one storage; what is returned is what was given."""
    import torch

    def run(device):
        found = []
        with block():
            torch.manual_seed(3)
            x = torch.randn(4, 6).to(device)
            y = torch.randn(6, 4).to(device)
            kept = x.data_ptr()
            assert x.exp_() is x and x.data_ptr() == kept
            out = torch.empty(0, device=device)
            assert torch.mm(x, y, out=out) is out and out.device.type == device
            part = x[:, ::2]
            part.mul_(3.3)  # written through a view with gaps
            x[1].copy_(x[0] / 7)
            x.t()[2].add_(x[3, 0])
            found += [x, out, part, torch.cat([x, part], 1), x.sum(), x.var(0), x.sort().values, x.argmax(), x.cumsum(1)]
            found += [*torch.max(x, 1), x.double().sum(), x.to(torch.bfloat16).float(), x[torch.tensor([1, 1, 0]).to(device)]]
            found += [torch.arange(0, 1, 0.1, device=device), torch.full((2,), 0.1, device=device, dtype=torch.float16)]
            found += [torch.rand(3, device=device), torch.randn_like(x), torch.randint(0, 9, (5,), device=device)]
            found += [torch.randperm(7, device=device), torch.nn.functional.dropout(x, 0.5), -x, x.neg().abs(), x > 0.1]
            index = torch.tensor([0, 2, 0]).to(device)
            found += [x.index_add(0, index, x[:3]), x.scatter_add(0, index[None].expand(2, 3), x[:2, :3])]
            found += [torch.nn.functional.rms_norm(x, (6,)), torch.nn.functional.softsign(x)]
            assert all(t.device.type == device for t in found)
        return found

    same(run("cpu"), run(DEVICE))


def case_layers():
    """Their results and gradients are the CPU's."""
    import torch

    nn = torch.nn
    layers = [
        (nn.GroupNorm(2, 4), (3, 4, 5)), (nn.LayerNorm(5), (3, 4, 5)), (nn.BatchNorm1d(4), (3, 4, 5)), (nn.InstanceNorm1d(4), (3, 4, 5)),
        (nn.Conv1d(4, 4, 3, groups=2), (3, 4, 7)), (nn.ConvTranspose1d(4, 2, 3), (3, 4, 7)), (nn.PReLU(), (3, 4)), (nn.Softmax(-1), (3, 4)),
        (nn.MultiheadAttention(8, 2), (5, 3, 8)), (nn.AvgPool1d(2), (3, 4, 8)), (nn.Upsample(scale_factor=2), (2, 3, 4)),
    ]  # fmt: skip
    for layer, shape in layers:
        made = []
        for device in ("cpu", DEVICE):
            with block():
                torch.manual_seed(5)
                x = torch.randn(shape).to(device).requires_grad_()
                own = [p.detach().to(device).requires_grad_() for p in layer.parameters()]
                names = [name for name, _ in layer.named_parameters()]
                buffers = {name: b.detach().clone().to(device) for name, b in layer.named_buffers()}
                given = (x, x, x) if isinstance(layer, nn.MultiheadAttention) else (x,)
                y = torch.func.functional_call(layer, {**dict(zip(names, own)), **buffers}, given)
                y = y[0] if isinstance(y, tuple) else y
                made.append([y, *torch.autograd.grad(y.square().sum(), [x, *own]), *buffers.values()])
        same(*made)


def case_recurrent_layers():
    """In one direction and both, with projections, dropout between layers and without biases, of sequences of one length and of several;
    and single cells. Their results and gradients are the CPU's, though PyTorch composes them in another way for a GPU."""
    import torch

    nn, rnn = torch.nn, torch.nn.utils.rnn
    for kind, options in (
        (nn.LSTM, {}), (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}), (nn.LSTM, {"proj_size": 2, "bias": False}),
        (nn.GRU, {"num_layers": 2, "dropout": 0.4}), (nn.GRU, {"bidirectional": True, "bias": False}),
        (nn.RNN, {"num_layers": 2, "bidirectional": True}), (nn.RNN, {"nonlinearity": "relu"}),
    ):  # fmt: skip
        for packed in (False, True):
            made = []
            for device in ("cpu", DEVICE):
                with block():
                    torch.manual_seed(5)
                    layer, x = kind(3, 4, **options).to(device), torch.randn(5, 4, 3).requires_grad_()
                    lengths = torch.tensor([4, 3, 3, 2, 1] if layer.batch_first else [5, 3, 3, 1])
                    given = rnn.pack_padded_sequence(x, lengths, layer.batch_first).to(device) if packed else x.to(device)
                    y, last = layer(given)
                    results = [y.data if packed else y, *(last if isinstance(last, tuple) else [last])]
                    loss = sum((t / 3).square().sum() for t in results)
                    made.append([*results, *torch.autograd.grad(loss, [x, *layer.parameters()])])
            same(*made)
    for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        made = []
        for device in ("cpu", DEVICE):
            with block():
                torch.manual_seed(6)
                cell, x = kind(3, 4).to(device), torch.randn(3, 5, 3).to(device).requires_grad_()
                state = None
                for step in x:
                    state = cell(step, state)
                results = list(state) if isinstance(state, tuple) else [state]
                made.append([*results, *torch.autograd.grad(sum(t.square().sum() for t in results), [x, *cell.parameters()])])
        same(*made)


def case_attention():
    """With and without dropout, masks and causality: the operator that PyTorch takes on the CPU."""
    import torch

    f = torch.nn.functional.scaled_dot_product_attention
    for options in (
        {},
        {"is_causal": True},
        {"dropout_p": 0.3},
        {"attn_mask": "bool"},
        {"attn_mask": "bool", "dropout_p": 0.3},
        {"attn_mask": "float"},
        {"scale": 0.3},
    ):
        made = []
        for device in ("cpu", DEVICE):
            with block():
                torch.manual_seed(2)
                q, k, v = (torch.randn(2, 2, 5, 4).to(device).requires_grad_() for _ in range(3))
                given = dict(options)
                if "attn_mask" in given:
                    mask = torch.rand(5, 5) > 0.3
                    given["attn_mask"] = (mask if given["attn_mask"] == "bool" else torch.randn(5, 5)).to(device)
                y = f(q, k, v, **given)
                made.append([y, *torch.autograd.grad(y.square().sum(), (q, k, v))])
        same(*made)


def case_names_of_gpus():
    """Operators that only GPUs have: the bits that the same calls have for the CPU, by the library for the device where it is there."""
    import torch

    aten = torch.ops.aten
    makers = {
        "cudnn_convolution": lambda x, w, b: aten.cudnn_convolution(x, w, [1, 0], [2, 1], [1, 1], 2, False, True, False),
        "cudnn_convolution_relu": lambda x, w, b: aten.cudnn_convolution_relu(x, w, b, [1, 1], [1, 1], [1, 1], 2),
        "miopen_convolution": lambda x, w, b: aten.miopen_convolution(x, w, b, [1, 0], [2, 1], [1, 1], 2, False, True),
        "_conv_depthwise2d": lambda x, w, b: aten._conv_depthwise2d(x, w[:4, :1], [3, 3], None, [1, 1], [1, 1], [1, 1]),
        "cudnn_batch_norm": lambda x, w, b: aten.cudnn_batch_norm(x, b[:4], b[2:], b[:4] + 0, b[:4] * b[:4], True, 0.3, 1e-5)[
            :3
        ],
        "_scaled_dot_product_flash_attention": lambda x, w, b: aten._scaled_dot_product_flash_attention(x, x, x, 0.0, True)[
            0
        ],
        "_scaled_dot_product_efficient_attention": lambda x, w, b: aten._scaled_dot_product_efficient_attention(
            x, x, x, None, True
        )[0],
        "_scaled_dot_product_cudnn_attention": lambda x, w, b: aten._scaled_dot_product_cudnn_attention(x, x, x, None, True)[
            0
        ],
        "mm.dtype": lambda x, w, b: aten.mm.dtype(x[0, 0].half(), x[0, 0].half().t(), torch.float32),
        "_masked_scale": lambda x, w, b: aten._masked_scale(x, (x > 0).byte(), 1 / 0.7),
    }
    with_gradients = [name for name in makers if name.startswith(("cudnn_conv", "_scaled")) and "relu" not in name]
    for name, call in makers.items():
        made = []
        for device in ("cpu", DEVICE):
            with block() as found:
                torch.manual_seed(2)
                x, w, b = (t.to(device) for t in (torch.randn(2, 4, 5, 6), torch.randn(6, 2, 3, 3), torch.randn(6)))
                x.requires_grad_(name in with_gradients)
                y = call(x, w, b)
                gradients = torch.autograd.grad(y.square().sum(), [x]) if name in with_gradients else []
                made.append([y, *gradients])
        same(*made)
        place = "on the device" if launches() else "in main memory"
        assert found.places[f"aten.{name if '.' in name else name + '.default'}", place] == 1, (name, found.places)


def case_gradients_of_maximum_pools():
    """Of windows apart and over each other, of planes with and without samples, of a window without elements and of numbers that tie; an index out
    of range makes what it may reach NaN, and is seen."""
    import torch

    aten, functional = torch.ops.aten, torch.nn.functional
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for options, shape in (
            ({"kernel_size": 2}, (2, 3, 6, 5)),
            ({"kernel_size": 3, "stride": 1, "padding": 1, "dilation": 2}, (1, 2, 7, 8)),
            ({"kernel_size": (2, 3), "stride": 1, "ceil_mode": True}, (3, 5, 5)),
            ({"kernel_size": 2, "stride": 1}, (2, 1, 3, 4, 5)),
        ):
            pool, made = functional.max_pool3d if len(shape) == 5 else functional.max_pool2d, []
            for device in ("cpu", DEVICE):
                with block() as b:
                    torch.manual_seed(8)
                    x = torch.randn(shape).mul_(2).round_().div_(2).to(dtype).to(device).requires_grad_()
                    y = pool(x, **options)
                    g = torch.randn(y.shape).to(dtype)
                    g.view(-1)[::7], g.view(-1)[1::11] = torch.tensor(-0.0), torch.nan
                    made.append([y, *torch.autograd.grad(y, x, g.to(device))])
            same(*made)
            if launches():
                assert not [k for k in b.places if k[1] == "in main memory" and "pool" in k[0]], b.places
    made = []
    for device in ("cpu", DEVICE):
        with block():
            x, g = torch.zeros(1, 2, 2, 2, device=device), torch.tensor([-0.0, 1.0]).view(1, 2, 1, 1).to(device)
            index = torch.tensor([-1, 3]).view(1, 2, 1, 1).to(device)
            made.append(aten.max_pool2d_with_indices_backward(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, index))
    same(*made)
    if launches():
        with block():
            found = aten.max_pool2d_with_indices_backward(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, index + 1)
        assert found.isnan().all()


def case_ranges():
    """Integers, and numbers that need no rounding, are PyTorch's on the device; others the CPU's."""
    import torch

    integers, numbers = [(5,), (2, 9), (9, -4, -3)], [(0.0, 3.0, 0.25), (-2.0, 2.0, 0.125)]
    for given, options in [
        *((i, {}) for i in integers), *((i, {"dtype": torch.float32}) for i in integers), *((n, {}) for n in numbers),
        ((300,), {"dtype": torch.bfloat16}), ((0.0, 1.0, 0.1), {}), ((0, 1000), {"dtype": torch.float16}), ((2**25,), {"dtype": torch.float32}),
    ]:  # fmt: skip
        made = []
        for device in ("cpu", DEVICE):
            with block() as b:
                made.append(torch.arange(*given, **options, device=device))
        same(*made)
        moved = sum(n for (_, place), n in b.places.items() if place == "moved")
        assert moved == (given in integers or given in numbers or given[-1] == 1000), (given, options, b.places)


def case_conversions_and_signs():
    """Of numbers about ties, subnormal and beyond the largest, infinities, and NaN of both signs and of other bits than its own."""
    import torch

    words = torch.tensor(
        [0, 1, 0x7F800000, 0x7F800001, 0x7FC12345, -1, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x00400000, 0x387FF000, 0x33000000,
         0x33000001, 0x477FF000, 0x477FEFFF, -0x80000000, -0x7FFFFFFF, 0x00008000, 0x00018000], dtype=torch.int32,
    )  # fmt: skip
    single = words.view(torch.float32)
    double = torch.cat(
        [single.double() * (1 + 2.0**-30), single.double() * (1 + 2.0**-24), torch.tensor([-torch.nan, 1e39, 1e-45])]
    )
    for x, dtype in ((single, torch.bfloat16), (single, torch.float16), (double, torch.float32)):
        made = []
        for device in ("cpu", DEVICE):
            with block() as b:
                given = x.to(device)
                made.append(
                    [
                        given.to(dtype),
                        torch.zeros(len(x), dtype=dtype, device=device).copy_(given),
                        given.neg(),
                        -given[::2],
                    ]
                )
        same(*made)
        assert {k[1] for k in b.places if k[0] != "aten._to_copy.default" or k[1] != "moved"} <= {"on the device", "moved"}, (
            b.places
        )


def case_negative_log_likelihood():
    """By its own name, with weights and targets that are ignored."""
    import torch

    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for reduction in ("mean", "sum", "none"):
            for weighted in (False, True):
                made = []
                for device in ("cpu", DEVICE):
                    with block() as b:
                        torch.manual_seed(4)
                        x = torch.randn(6, 5).to(dtype).to(device).requires_grad_()
                        w = torch.rand(5).to(dtype).to(device) if weighted else None
                        y = torch.tensor([0, 3, -100, 4, 1, 1]).to(device)
                        loss = torch.nn.functional.nll_loss(x, y, w, reduction=reduction)
                        made.append([loss, *torch.autograd.grad(loss.sum(), x)])
                same(*made)
                elsewhere = [k for k in b.places if k[1] == "in main memory" and "nll" in k[0]]
                assert not elsewhere or weighted or not launches(), (dtype, reduction, elsewhere)


def case_native_dropout():
    """As PyTorch calls it for a GPU, with its gradient."""
    import torch

    for dtype in (torch.float32, torch.bfloat16):
        for p in (0.3, 0.0, 1.0):
            made = []
            for device in ("cpu", DEVICE):
                with block() as b:
                    torch.manual_seed(2)
                    x = torch.randn(5, 7).to(dtype).to(device).requires_grad_()
                    y, mask = torch.native_dropout(x, p, True)
                    made.append([y, mask, *torch.autograd.grad(y.sum(), x)])
            same(*made)
            elsewhere = [k for k in b.places if k[1] == "in main memory"]
            assert not elsewhere or not launches(), elsewhere


def case_running_statistics():
    """Of a batch norm: beside a midpoint, of channels with infinities, of formats that differ, of no momentum; and those that norms return."""
    import torch

    functional, aten = torch.nn.functional, torch.ops.aten
    for dtype, running_dtype in (
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float64, torch.float64),
    ):
        for momentum in (0.1, 0.5, 0.0, 1.0):
            made = []
            for device in ("cpu", DEVICE):
                with block():
                    torch.manual_seed(7)
                    x = torch.randn(4, 7, 5).to(dtype)
                    x[:, 1] = 3  # a mean and a variance that are exact
                    x[2, 2, 3], x[1, 3, 1] = torch.inf, torch.nan
                    x[:, 5] = torch.tensor([1.0, 1 + 2.0**-7, 1.0, 1 + 2.0**-7])[:, None]
                    mean, var = torch.randn(7).to(running_dtype), torch.rand(7).to(running_dtype)
                    mean[4], var[4], mean[5], mean[6] = (
                        torch.inf,
                        torch.nan,
                        1 + 2.0**-23 if dtype is torch.float32 else 1,
                        -0.0,
                    )
                    x[:, 6] = 0
                    x, mean, var = (t.to(device) for t in (x, mean, var))
                    y = functional.batch_norm(x, mean, var, training=True, momentum=momentum)
                    norms = [
                        aten.native_layer_norm(x, [5], None, None, 1e-5),
                        aten.native_group_norm(x, None, None, 4, 7, 5, 7, 0.25),
                    ]
                    norms.append(aten.native_batch_norm(x, None, None, mean, var, True, momentum, 1e-5))
                    made.append([y, mean, var, *norms])
            same(*made)


def case_second_derivatives_of_norms():
    """They read the means and deviations that the first derivatives do not need."""
    import torch

    functional = torch.nn.functional
    norms = {
        "layer": lambda x: functional.layer_norm(x, (6, 5)),
        "group": lambda x: functional.group_norm(x, 2),
        "batch": lambda x: functional.batch_norm(x, None, None, training=True),
    }
    for norm in norms.values():
        made = []
        for device in ("cpu", DEVICE):
            with block():
                torch.manual_seed(5)
                x = torch.randn(3, 4, 6, 5).to(device).requires_grad_()
                (g,) = torch.autograd.grad(norm(x).pow(3).sum(), x, create_graph=True)
                made.append(torch.autograd.grad(g.pow(2).sum(), x))
        assert made[0][0].isfinite().all()
        same(*made)


def case_refusals():
    """Operators that the CPU's block refuses, tensors in two places, and generators that are not the CPU's."""
    import torch

    import repmath.torch

    x, y = torch.randn(3, 3).to(DEVICE), torch.randn(3, 3)
    with block():
        raised(repmath.torch.UncoveredOperatorError, "linalg_eig", lambda: torch.linalg.eig(x))
        raised(RuntimeError, "same device", lambda: x + y)
        raised(RuntimeError, "same device", lambda: x @ y)
        raised(RuntimeError, "", lambda: x @ x[:2])
        assert (x * torch.tensor(2.0)).device.type == DEVICE  # a number
    with block(strict=False) as loose:
        torch.linalg.eig(x)
    assert sum(loose.uncovered.values()) == 1


def case_memory():
    """A step of training takes no memory but PyTorch's, and waits for nothing, not for the fused optimiser's counts of steps either: every launcher
    is given its workspace. The controls are a call on a stream that is not PyTorch's, whose workspace is of the library's pool, an
    exact sum whose root the host reads, and an operator that is computed in main memory."""
    import ctypes

    import stand_in
    import torch

    from repmath._cuda import _array, _calls, _library
    from repmath.torch import _device_tensors

    if not launches():
        return
    ask = _library.load().emulated_device
    ask.restype = ctypes.POINTER(ctypes.c_int64 * 8)  # emulated_record of tests/cuda/emulate.h
    record = ask().contents
    waits, taken = 4, 7
    reads = ctypes.CDLL(str(stand_in.built(ROOT / "build/native/stand_in"))).stand_in_reads
    nn = torch.nn
    with block():
        torch.manual_seed(5)
        layers = [
            nn.Embedding(11, 8),
            nn.LayerNorm(8),
            nn.Linear(8, 8),
            nn.GELU(),
            nn.MultiheadAttention(8, 2, batch_first=True),
        ]
        rest = [
            nn.Conv1d(5, 4, 3, padding=1),
            nn.BatchNorm1d(4),
            nn.GroupNorm(2, 4),
            nn.ReLU(),
            nn.AvgPool1d(2),
            nn.Flatten(),
        ]
        rest.append(nn.Linear(16, 7))
        net, tail = nn.ModuleList(layers).to(DEVICE), nn.Sequential(*rest).to(DEVICE)
        parameters = [*net.parameters(), *tail.parameters()]
        optimizer = torch.optim.AdamW(parameters, fused=True)
        words, targets = torch.randint(0, 11, (3, 5)).to(DEVICE), torch.tensor([1, 6, 3]).to(DEVICE)

        def step():
            x = net[3](net[2](net[1](net[0](words))))
            x = x + net[4](x, x, x, need_weights=False)[0].softmax(-1).cumsum(-1)
            loss = nn.functional.cross_entropy(tail(x), targets) + x.std() / 7
            loss.backward()
            own = reads()
            optimizer.step()
            optimizer.zero_grad()
            return reads() - own

        step()
        before = record[waits], record[taken], reads()
        of_optimizer = step()
        assert of_optimizer == 0
        assert (record[waits], record[taken], reads()) == before, (list(record), before, reads())
        optimizer = torch.optim.AdamW(parameters, lr=torch.tensor(0.01, device=DEVICE), fused=True)
        for p in parameters:
            p.grad = torch.ones_like(p)
        own = reads()
        optimizer.step()
        assert reads() - own == 2  # of the rate, which PyTorch reads to choose an overload
        before = record[waits], record[taken], reads()
        x = torch.ones(2, 3, device=DEVICE)
        a = _device_tensors.as_device_array(x)
        a.place = _array.Place(0, 0)
        _library.checked(
            "rm_cuda_softmax", _library.format_of("f32"), 2, 3, a.pointer, 12, 4, a.pointer, 12, 4, a.place.queue
        )
        assert record[taken] > before[1]
        _calls.ExactSum(a.place).root()
        assert record[waits] > before[0]
        x.sort()
        assert reads() > before[2]


def kernels_launched():
    """How many kernels the emulated device has launched: the last number of emulated_record of tests/cuda/emulate.h."""
    import ctypes

    from repmath._cuda import _library

    ask = _library.load().emulated_device
    ask.restype = ctypes.POINTER(ctypes.c_int64 * 12)
    return ask().contents[11]


def parameters_of(kind, device, dtype):
    """Parameters with gradients: of no axes, none of a word's size, no elements, in another order than C's, and views of one memory."""
    import torch

    torch.manual_seed(9)
    whole = torch.randn(40).to(dtype).to(device)
    made = [torch.randn(shape).to(dtype).to(device) for shape in ((), (1,), (3, 5), (0, 4), (17,), (257,), (2, 3, 2, 2))]
    made[-1] = made[-1].contiguous(memory_format=torch.channels_last)
    made += [whole[:7], whole[7:24].unflatten(0, (1, 17)), whole[24:]]
    made += [torch.randn(k % 5 + 1).to(dtype).to(device) for k in range(60 if kind == "many" else 0)]
    for p in made:
        p.requires_grad_()
        values = torch.randn(p.shape).to(dtype)
        p.grad = torch.empty_like(p).copy_(values.to(device))
    if kind == "gaps":
        values = torch.randn(34).to(dtype)
        made[4].grad = values.to(device)[::2]
    return made


def case_steps_of_lists():
    """Fused steps of SGD, Adam and AdamW: the bits of the CPU, on the device, by one launch of each phase for 64 tensors; the same without
    `fused`, in whatever places."""
    import torch

    optim = torch.optim
    options = [
        (optim.SGD, {"lr": 0.1}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.5, "dampening": 0.1, "maximize": True}),
        (optim.Adam, {"lr": 0.01, "amsgrad": True}),
        (optim.Adam, {"lr": 0.01, "weight_decay": 0.1, "maximize": True}),
        (optim.AdamW, {"lr": 0.01, "betas": (0.8, 0.95)}),
    ]
    for kind in ("few", "many", "gaps"):
        for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.float16):
            for which, more in options if kind == "few" else options[3:4]:
                for fused in (True, False) if dtype is torch.float32 and kind == "few" else (True,):
                    made = []
                    for device in ("cpu", DEVICE):
                        with block() as b:
                            parameters = parameters_of(kind, device, dtype)
                            optimizer = which(parameters, **more, fused=fused, **({} if fused else {"foreach": True}))
                            for _ in range(2):
                                optimizer.step()
                            before = kernels_launched() if launches() else 0
                            optimizer.step()
                            launched = kernels_launched() - before if launches() else 0
                            states = [optimizer.state[p] for p in parameters]
                            made.append([parameters, [s[key] for s in states for key in sorted(s)]])
                    same(*made)
                    if fused and launches():
                        name = f"aten._fused_{which.__name__.lower()}_.default"
                        assert b.places[name, "on the device"] == 3, b.places
                        most = (4 if kind == "many" else 2) + (kind == "gaps")  # a gradient with gaps is copied
                        if which is not optim.SGD:  # PyTorch counts the steps before; and coefficients are made of counts
                            most += 4 if kind == "many" else 3
                        assert launched <= most, (kind, dtype, which, more, launched)


def case_steps_that_are_scaled():
    """Fused steps whose gradients are divided by a scale, and steps that are left out, as a GradScaler asks for them: the bits of the CPU, of the
    gradients too, and the device is not waited for; but gradients with gaps are divided in main memory."""
    import ctypes

    import stand_in
    import torch

    reads = ctypes.CDLL(str(stand_in.built(ROOT / "build/native/stand_in"))).stand_in_reads
    optim = torch.optim
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for which, more in ((optim.SGD, {"momentum": 0.9}), (optim.Adam, {"amsgrad": True}), (optim.AdamW, {})):
            for kind in ("few", "gaps"):
                made, read = [], 0
                for device in ("cpu", DEVICE):
                    with block():
                        parameters = parameters_of(kind, device, dtype)
                        optimizer = which(parameters, lr=0.01, fused=True, **more)
                        optimizer.grad_scale = torch.tensor(3.0).to(device)
                        left_out = []
                        for found in (0.0, 1.0, 0.0):
                            optimizer.found_inf = torch.tensor(found).to(device)
                            before, read = [p.detach().clone() for p in parameters], reads()
                            optimizer.step()
                            read = reads() - read
                            left_out.append(all(torch.equal(p, q) for p, q in zip(parameters, before, strict=True)))
                        assert left_out == [False, True, False], left_out
                        states = [optimizer.state[p] for p in parameters]
                        made.append([[p, p.grad] for p in parameters] + [s[key] for s in states for key in sorted(s)])
                same(*([t for v in m for t in (v if isinstance(v, list) else [v])] for m in made))
                assert (read == 0) == (kind == "few" and bool(launches())), (which, dtype, kind, read)


def case_a_step_of_counts_that_differ():
    """A call for each number of steps; and where memory is shared, or a parameter is twice in the list, what the CPU does."""
    import torch

    made = []
    for device in ("cpu", DEVICE):
        with block():
            torch.manual_seed(3)
            x = torch.randn(12).to(device)
            for p, q in ((x[:5], x[5:]), (x[:7], x[4:]), (x, x), (x[:5], x[5:])):
                lists = [[p, q], *([torch.rand(t.shape).to(device) for t in (p, q)] for _ in range(3))]
                steps = [torch.tensor(float(k)).to(device) for k in (3, 4 if len(p) == 5 else 3)]
                options = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8}
                torch._fused_adam_(*lists, [], steps, **options, amsgrad=False, maximize=False)
            made.append([x, *lists[2], *lists[3]])
    same(*made)


def case_lists_of_small_tensors():
    """Operators of lists compute small tensors together, with the CPU's bits: without `out`, in place, of tensors that one call cannot take together
    and of one that is there twice."""
    import torch

    def lists(device):
        torch.manual_seed(6)
        shapes = ((3,), (), (2, 5), (0,), (4, 4), (300, 300), (1,))
        made = [[torch.rand(s).add_(0.5).to(device) for s in shapes] for _ in range(3)]
        made[1][4] = made[1][4].t()
        return made

    calls = {
        "add": lambda x, y, z: torch._foreach_add(x, y, alpha=0.3),
        "add_": lambda x, y, z: (torch._foreach_add_(x, 1), x)[1],
        "mul": lambda x, y, z: torch._foreach_mul(x, 0.1),
        "mul of numbers": lambda x, y, z: torch._foreach_mul(x, [0.1 * k for k in range(7)]),
        "div of one number": lambda x, y, z: torch._foreach_div(x, [0.1] * 7),
        "zeros of two signs": lambda x, y, z: torch._foreach_mul(x, [0.0, -0.0] * 3 + [0.0]),
        "div_": lambda x, y, z: (torch._foreach_div_(x, y), x)[1],
        "addcmul_": lambda x, y, z: (torch._foreach_addcmul_(x, y, z, value=0.7), x)[1],
        "addcdiv_": lambda x, y, z: (torch._foreach_addcdiv_(x, y, z, value=-0.7), x)[1],
        "lerp_": lambda x, y, z: (torch._foreach_lerp_(x, y, 0.1), x)[1],
        "sqrt": lambda x, y, z: torch._foreach_sqrt(x),
        "maximum_": lambda x, y, z: (torch._foreach_maximum_(x, y), x)[1],
        "norm": lambda x, y, z: torch._foreach_norm(x),
        "twice": lambda x, y, z: (torch._foreach_add_([x[0], x[0], x[1]], 0.1), x)[1],
    }
    for name, call in calls.items():
        made, launched = [], 0
        for device in ("cpu", DEVICE):
            given = lists(device)
            with block() as b:
                before = kernels_launched() if launches() else 0
                made.append([*call(*given), *given[0]])
                launched = kernels_launched() - before if launches() else 0
        same(*made)
        if launches() and name not in ("norm", "twice", "mul of numbers", "zeros of two signs"):
            assert launched <= 6, (name, launched)  # two phases: those together, the large one, and one in another order
            assert {place for _, place in b.places} == {"on the device"}, b.places


def case_views_of_one_memory():
    """Tensors that are views of one memory, as gradients in a bucket are, are computed on the device where they do not meet; where they do, and
    where one is read that meets one that is written, they are the CPU's."""
    import torch

    def views(device):
        torch.manual_seed(6)
        whole = torch.rand(30).to(device)
        return whole, [whole[:7], whole[7:19].view(3, 4), whole[19:]]

    calls = {
        "apart": lambda w, v: torch._foreach_mul_(v, 0.3),
        "one of them": lambda w, v: v[1].add_(v[0][0], alpha=0.3).mul_(0.7),
        "of each other": lambda w, v: w[:10].add_(w[10:20], alpha=0.3),
        "meet": lambda w, v: torch._foreach_mul_([v[0], w[6:9]], 0.3),
        "meets what is read": lambda w, v: torch._foreach_add_([v[0], v[2]], [w[1:8], w[:11]], alpha=0.3),
        "shifted": lambda w, v: w[:20].add_(w[10:], alpha=0.3),
    }
    for name, call in calls.items():
        made = []
        for device in ("cpu", DEVICE):
            whole, parts = views(device)
            with block() as b:
                try:
                    call(whole, parts)
                except RuntimeError as error:  # PyTorch refuses what meets in part
                    assert "overlap" in str(error) or "memory location" in str(error), error
            made.append([whole, *parts])
        same(*made)
        elsewhere = {place for _, place in b.places} - {"moved", "on the device"}
        if launches() and name in ("apart", "one of them", "of each other"):
            assert not elsewhere, (name, b.places)
        elif name == "meet":
            assert elsewhere == {"in main memory"}, (name, b.places)


def case_places():
    """The block says where operators were computed."""
    import torch

    with block() as b:
        x = torch.ones(3, device=DEVICE)
        x.clone().sort()
    assert b.places["aten.sort.default", "in main memory"] == 1
    assert b.places["aten.clone.default", "moved"] == 1


def case_moves_are_those_of_the_table():
    """Each name in the list of operators that PyTorch runs on the device is one of the table that moves elements, or is known besides."""
    from repmath.torch._aten import devices, table

    names = {o.overloadpacket.__name__ for o, line in table.OPERATORS.items() if line.way == "moves"}
    assert devices._MOVES <= names, devices._MOVES - names


CASES = [name.removeprefix("case_") for name in dict(globals()) if name.startswith("case_")]


def main():
    import torch

    sys.path.insert(0, str(ROOT / "tools"))
    import gpu_models
    import stand_in

    gpu_models.import_repmath()
    warnings.simplefilter("ignore")
    stand_in.use(ROOT / "build/native/stand_in")
    torch.set_num_threads(2)
    found = {}
    for name in sys.argv[1:] or CASES:
        try:
            globals()[f"case_{name}"]()
            found[name] = None
        except Exception:
            found[name] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
