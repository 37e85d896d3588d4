"""PyTorch's samples of its operators on the device of stand_in.py and on the CPU, under reproducible(): results, gradients and what is written in
place. python stand_in_samples.py COUNT [NAME ...] prints a line of JSON: what differs, by name, and where operators were computed. With the
variable REPMATH_SAMPLES_DEVICE the device is that of PyTorch's which it names, as in tools/gpu_check.py."""

import collections
import json
import os
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = os.environ.get("REPMATH_SAMPLES_DEVICE", "standin")


def moved(value, device, wanting):
    """The value with copies of its tensors on a device, which lie as they do."""
    import torch

    if isinstance(value, torch.Tensor):
        made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
        return made.copy_(value.detach()).requires_grad_(wanting and value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, device, wanting) for v in value)
    if isinstance(value, dict):
        return {k: moved(v, device, wanting) for k, v in value.items()}
    if isinstance(value, (torch.device, str)) and str(value) == "cpu":
        return torch.device(device)
    return value


def made(cases, block, op, args, kwargs, device):
    """Results, gradients and the operator in place; or the error."""
    import torch

    torch.manual_seed(11)
    given, named = moved(args, device, True), moved(kwargs, device, True)
    if "device" in named:
        named["device"] = torch.device(device)
    found = []
    try:
        with block:
            results = cases.tensors(op(*given, **named))
            found += results
            leaves = cases.leaves_of(given, named)
            wanting = [t for t in results if t.requires_grad]
            if leaves and wanting:
                seeds = [torch.ones_like(t) for t in wanting]
                found += [t for t in torch.autograd.grad(wanting, leaves, seeds, allow_unused=True) if t is not None]
            written = op.inplace_variant
            if written is not None and not kwargs:
                fresh = moved(args, device, False)
                found.append(written(*fresh))
    except Exception as error:
        found.append(type(error).__name__ + (": " + str(error)[:200] if device == DEVICE else ""))
    return found


def differ(ours, theirs):
    import torch

    if len(ours) != len(theirs):
        return f"{len(ours)} results, and {len(theirs)}: {ours[-1] if ours else None}, {theirs[-1] if theirs else None}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if isinstance(a, str) or isinstance(b, str):
            if not (isinstance(a, str) and isinstance(b, str)) or a.split(":")[0] != b.split(":")[0]:
                return f"result {i}: {a if isinstance(a, str) else 'a tensor'}, {b if isinstance(b, str) else 'a tensor'}"
        elif a.dtype != b.dtype or a.shape != b.shape:
            return f"result {i}: {a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)}"
        elif a.layout is torch.strided and a.numel():
            words = [t.detach().resolve_neg().resolve_conj().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
            if not torch.equal(*words):
                at = int((words[0] != words[1]).nonzero()[0]) // a.itemsize
                return f"result {i} from element {at}: {a.reshape(-1)[at].item()!r}, {b.reshape(-1)[at].item()!r} of {a.dtype} {tuple(a.shape)}"
    return None


def main():
    import torch

    sys.path[:0] = [str(ROOT / folder) for folder in ("tools", "tests/support")]
    import gpu_models

    rt = gpu_models.import_repmath()
    warnings.simplefilter("ignore")
    if DEVICE == "standin":
        import stand_in

        stand_in.use(ROOT / "build/native/stand_in")
    import opinfo_cases as cases
    import opinfo_names as names

    count, given = int(sys.argv[1]), sys.argv[2:]
    tested = given or [name for name in cases.DATABASE if name not in {*names.OUTSIDE, *names.WITHOUT_SAMPLES}]
    found, places, compared = {}, collections.Counter(), 0
    for name in tested:
        op = cases.DATABASE[name]
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            if dtype not in op.supported_dtypes("cpu"):
                continue
            wanting = op.supports_autograd
            for sample in cases.samples(op, dtype, count if dtype is torch.float32 else 1, wanting):
                args, kwargs = cases.arguments(sample, dtype, wanting)
                block = rt.reproducible()
                theirs = made(cases, rt.reproducible(), op, args, kwargs, "cpu")
                ours = made(cases, block, op, args, kwargs, DEVICE)
                places.update(block.places)
                compared += 1
                what = differ(ours, theirs)
                if what is not None:
                    found.setdefault(name, f"{dtype}: {what}")
        if given or "-v" in sys.argv:
            print(name, found.get(name), file=sys.stderr, flush=True)
    where = {place: sorted({o for o, p in places if p == place}) for place in ("moved", "on the device", "in main memory")}
    print(json.dumps({"compared": compared, "differ": found, "places": where}))


if __name__ == "__main__":
    main()
