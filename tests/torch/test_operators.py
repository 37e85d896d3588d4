"""Operators of repmath.torch: PyTorch's own checks, gradients, tangents, second derivatives, vmap, and what raises."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch_cases as cases  # noqa: E402
from torch.autograd import forward_ad, gradcheck, gradgradcheck  # noqa: E402
from torch.autograd.gradcheck import GradcheckError  # noqa: E402
from torch_cases import CASES, OPERATORS, same_bits  # noqa: E402

import repmath  # noqa: E402

FULL = ("exp", "pow")  # of the elementwise functions, whose code is one: second derivatives in both orders
WITH_TANGENT = [n for n, (_, _, has) in CASES.items() if "tangent" in has]
WITH_SECOND = [n for n, (_, _, has) in CASES.items() if "second" in has]
WITHOUT_TANGENT = sorted(CASES.keys() - set(WITH_TANGENT))
WITHOUT_SECOND = sorted(CASES.keys() - set(WITH_SECOND))
DERIVATIVES = {"trigamma": 0, "digamma": 1}  # how many of these elementwise functions there are; of all others any number
ALL_CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def wanting(tensors):
    return [t.clone().requires_grad_() for t in tensors]


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", OPERATORS)
def test_opcheck_of_elementwise_functions(name):
    args = cases.elementwise_arguments(name, 2, 3)
    args = wanting(args) if DERIVATIVES.get(name, 2) else args
    torch.library.opcheck(OPERATORS[name].overload, args, test_utils=ALL_CHECKS)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_opcheck(name):
    op, args, _ = CASES[name]
    places = cases.differentiable(name)
    full = [a.clone().requires_grad_() if i in places else a for i, a in enumerate(args)]
    torch.library.opcheck(op.overload, full, test_utils=ALL_CHECKS)


_x, _rows, _w = cases.numbers(2, 4, 5, low=-1, high=1), cases.numbers(3, 3, seed=5, low=-2, high=2), cases.numbers(4, seed=7)
_classes, _shares, _one = torch.tensor([0, 2, 1]), cases.numbers(3, 3, seed=6), torch.tensor(0.75, dtype=torch.float64)
_heads = [cases.numbers(1, 2, 3, 2, seed=11 + i, low=-1, high=1) for i in range(4)]
# Operators that only gradients call: theirs are not asked for.
OF_GRADIENTS = {
    "batch_norm_backward": (_x, _x, None, None, _w, True, 1e-5),
    "batch_norm_statistics": (_x, _w, _w + 1, 0.1),
    "binary_cross_entropy_with_logits_backward": (_one, _rows, _shares, None, "mean", None),
    "cross_entropy_backward": (_one, _rows, _classes, None, -100, "mean", 0.125),
    "group_norm_backward": (_x, _x, 2, _w, 1e-5),
    "instance_norm_backward": (_x, _x, _w, 1e-5),
    "kl_div_backward": (_one, _rows, _shares, "batchmean", False),
    "layer_norm_backward": (_x, _x, [5], cases.numbers(5), 1e-5),
    "nll_loss_backward": (_one, _rows, _classes, None, -100, "mean"),
    "pair_loss_backward": (_one, _rows, _shares, "huber", 0.5, "mean"),
    "rms_norm_backward": (_x, _x, [5], cases.numbers(5), 1e-5),
    "scaled_dot_product_attention_backward": (_heads[3], *_heads[:3], None, True, None, 0.25, 7, 0, 4),
}


@pytest.mark.parametrize("name", OF_GRADIENTS)
def test_opcheck_of_gradients(name):
    op = getattr(torch.ops.repmath, name).default
    torch.library.opcheck(op, OF_GRADIENTS[name], test_utils=ALL_CHECKS)


ELSEWHERE = tuple(repmath._core.powers)  # of a number and an integer: test_powers.py


def test_every_operator_is_checked():
    """All that repmath.torch has registered with PyTorch's dispatcher."""
    registered = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("repmath::")}
    checked = {op.overload.name() for op in [*OPERATORS.values(), *(case[0] for case in CASES.values())]}
    assert {n.partition(".")[0] for n in registered} == {n.partition(".")[0] for n in checked} | {
        f"repmath::{n}" for n in (*OF_GRADIENTS, *ELSEWHERE)
    }


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_derivative_that_there_is_not_raises(name):
    (x,) = wanting(cases.elementwise_arguments(name, 2))
    y = OPERATORS[name].overload(x)
    if DERIVATIVES[name] == 1:
        assert gradcheck(OPERATORS[name].overload, (x,), check_forward_ad=True)
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="no derivative"):
        torch.autograd.grad(y.sum(), x)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in DERIVATIVES])
def test_elementwise_derivatives(name):
    """First and second derivatives, both ways, with arguments of which one is broadcast."""
    args = wanting(cases.elementwise_arguments(name, 2))
    if len(args) > 1:
        args[-1] = args[-1].detach()[:1].requires_grad_()
    assert gradcheck(OPERATORS[name].overload, args, check_forward_ad=True)
    assert gradgradcheck(OPERATORS[name].overload, args, check_fwd_over_rev=name in FULL)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    function, tensors = cases.as_function(name)
    assert gradcheck(function, wanting(tensors), check_forward_ad=name in WITH_TANGENT, fast_mode=True)


@pytest.mark.parametrize("name", WITH_SECOND)
def test_second_derivatives(name):
    function, tensors = cases.as_function(name)
    assert gradgradcheck(function, wanting(tensors), fast_mode=True)


def test_tangent_of_a_gradient():
    """Forward over reverse: what is kept for the gradient has tangents too."""
    for name in ("conv", "matmul", "softmax", "mean"):
        function, tensors = cases.as_function(name)
        assert gradgradcheck(function, wanting(tensors), check_fwd_over_rev=name != "softmax", fast_mode=True)


@pytest.mark.parametrize("name", WITHOUT_TANGENT)
def test_no_tangent_raises(name):
    """Never a tangent that is silently zero."""
    function, tensors = cases.as_function(name)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="forward mode"):
        function(*(forward_ad.make_dual(t, torch.ones_like(t)) for t in tensors))
    with pytest.raises(NotImplementedError, match="forward mode"):
        torch.func.jvp(function, tensors, tuple(map(torch.ones_like, tensors)))


@pytest.mark.parametrize("name", WITHOUT_SECOND)
def test_no_second_derivative_raises(name):
    function, tensors = cases.as_function(name)
    args = wanting(tensors)
    gradients = torch.autograd.grad((function(*args) ** 2).sum(), args, create_graph=True)
    with pytest.raises(NotImplementedError, match="no derivative"):
        torch.autograd.grad(sum(g.sum() for g in gradients), args)


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_no_second_derivative_raises_by_a_weight_alone(name):
    """The second result of a gradient's operator is in the graph too: beside a term that has a derivative it is not silently a constant."""
    function, tensors = cases.as_function(name)
    args = wanting(tensors)
    weights = [a for a in args if a.shape != args[0].shape]
    assert weights
    gradients = torch.autograd.grad((function(*args) ** 2).sum(), weights, create_graph=True)
    for g in gradients:
        with pytest.raises(NotImplementedError, match="no derivative"):
            (g.sum() + (args[0] ** 2).sum()).backward()


def test_no_gradient_by_an_argument_raises():
    with pytest.raises(NotImplementedError, match="cross_entropy has no gradient with respect to target"):
        op, args, _ = CASES["cross_entropy_probabilities"]
        op(args[0], args[1].clone().requires_grad_(), *args[2:]).backward()
    with pytest.raises(NotImplementedError, match="no gradient with respect to attn_mask"):
        op, args, _ = CASES["scaled_dot_product_attention"]
        mask = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
        op(*args[:3], mask, False, *args[5:]).sum().backward()


def test_the_control_a_wrong_rule_is_found():
    """A rule that forgets a factor is caught by the same checks."""
    op = OPERATORS["exp2"]
    rule, names = op.gradient, op.gradient_names
    op.set_gradient(lambda g, needs, shapes, out: [g * out], names)
    try:
        with pytest.raises(GradcheckError):
            gradcheck(op.overload, wanting(cases.elementwise_arguments("exp2", 2)))
    finally:
        op.set_gradient(rule, names)


VMAPPED = [*CASES, "exp", "fma", "atan2"]


@pytest.mark.parametrize("name", VMAPPED)
def test_vmap_has_the_bits_of_a_loop(name):
    if name in CASES:
        function, tensors = cases.as_function(name)
    else:
        function, tensors = OPERATORS[name], cases.elementwise_arguments(name, 2, 3)
    stacks = [torch.stack([t, t.flip(-1) * 0.5, -t.abs()], dim=min(1, t.ndim)) for t in tensors]
    dims = tuple(min(1, t.ndim) for t in tensors)
    together = torch.func.vmap(function, in_dims=dims, randomness="same")(*stacks)
    for i in range(3):
        assert same_bits(together[i], function(*(s.select(d, i) for s, d in zip(stacks, dims, strict=True))))
    if len(tensors) > 1:  # one argument alone has the axis
        alone = torch.func.vmap(function, in_dims=(dims[0], *(None,) * (len(dims) - 1)), randomness="same")
        for i, y in enumerate(alone(stacks[0], *tensors[1:])):
            assert same_bits(y, function(stacks[0].select(dims[0], i), *tensors[1:]))


def test_vmap_of_dropout_asks_for_one_randomness():
    function, tensors = cases.as_function("dropout")
    with pytest.raises(RuntimeError, match="randomness"):
        torch.func.vmap(function, randomness="different")(torch.stack([tensors[0]] * 2))


def test_nested_transforms():
    x = cases.numbers(3)
    f = OPERATORS["gelu"]
    assert torch.allclose(
        torch.func.hessian(lambda t: f(t).sum())(x).diagonal(), torch.func.vmap(torch.func.grad(torch.func.grad(f)))(x)
    )
    twice = torch.func.jvp(lambda t: torch.func.jvp(f, (t,), (torch.ones(3).double(),))[1], (x,), (torch.ones(3).double(),))[
        1
    ]
    assert torch.allclose(twice, torch.func.vmap(torch.func.grad(torch.func.grad(f)))(x))
    per_sample = torch.func.vmap(
        torch.func.grad(lambda w, a: OPERATORS["tanh"](CASES["linear"][0](a, w, None)).sum()), (None, 0)
    )
    w, a = cases.numbers(2, 3), cases.numbers(4, 3)
    for i, g in enumerate(per_sample(w, a)):
        v = w.clone().requires_grad_()
        OPERATORS["tanh"](CASES["linear"][0](a[i], v, None)).sum().backward()
        assert same_bits(g, v.grad)


def network():
    """Layers of several kinds, and an input."""
    from repmath.torch import nn

    nn.manual_seed(1)
    layers = (
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(4, 3),
        nn.GELU(),
        nn.Dropout(0.25),
    )
    return nn.Sequential(*layers), cases.numbers(3, 2, 4, 4, dtype=torch.float32)


def trained(model, x, call=None):
    """Loss, gradients and buffers of a step in training."""
    import repmath.torch.functional as F
    from repmath.torch import manual_seed

    manual_seed(5)
    model.zero_grad()
    loss = F.cross_entropy((call or model)(x), torch.tensor([0, 2, 1]))
    loss.backward()
    return [loss.detach(), *(p.grad.clone() for p in model.parameters()), *(b.clone() for b in model.buffers())]


def test_compiled_graphs_have_the_bits_of_eager_ones():
    """Without a break in the graph, with batch norm's statistics and dropout's place in the stream."""
    model, x = network()
    again, _ = network()
    compiled = torch.compile(again, backend="aot_eager", fullgraph=True)
    for _ in range(2):  # the second time from the new statistics
        for a, b in zip(trained(model, x), trained(again, x, compiled), strict=True):
            assert same_bits(a, b)


def test_inductor(monkeypatch):
    """PyTorch's own compiler. The graph has no operator for which it would call a C++ compiler, which takes a minute."""
    import repmath.torch.functional as F

    monkeypatch.setattr("torch._inductor.config.compile_threads", 1)
    w = cases.numbers(3, 4, dtype=torch.float32)

    def function(x):
        return F.softmax(F.linear(F.tanh(x), w), -1)

    x = [cases.numbers(2, 4, dtype=torch.float32).requires_grad_() for _ in range(2)]
    g = cases.numbers(2, 3, dtype=torch.float32)
    for f, t in zip((function, torch.compile(function, fullgraph=True)), x, strict=True):
        f(t).backward(g)
    assert same_bits(x[0].grad, x[1].grad)


def test_compiled_functions_of_numbers_and_shapes():
    import repmath.torch.functional as F

    def function(x, n):
        return F.sum(F.softmax(F.add(F.multiply(x, 0.1), n), -1) - F.silu(x), (0,))

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (2, 3, 5):
        x = cases.numbers(rows, 4, dtype=torch.float32)
        assert same_bits(compiled(x, 2), function(x, 2))


def test_export():
    model, x = network()
    model.eval()
    program = torch.export.export(model, (x,))
    assert same_bits(program.module()(x), model(x))
    called = {str(n.target) for n in program.graph.nodes if n.op == "call_function"}
    assert {"repmath.conv.default", "repmath.linear.default", "repmath.batch_norm.default"} <= called
