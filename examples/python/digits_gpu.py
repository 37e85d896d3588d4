"""The network of digits_numpy.py on a GPU: repmath's functions of PyTorch's tensors. Its weights end with the same SHA-256."""

import digits
import torch
from digits_numpy import forward, gradients

import repmath


def main():
    options = digits.arguments(device="cuda")

    def there(a):
        return torch.from_numpy(a).to(options.device)

    (x, y), (x_test, y_test) = (tuple(map(there, pair)) for pair in digits.data(options.images, options.generated))
    params = {name: there(p) for name, p in digits.weights().items()}
    buffers = {name: torch.zeros_like(p) for name, p in params.items()}

    def trained():
        return {name: p.cpu() for name, p in params.items()}

    for step in range(options.steps):
        digits.mark(step, trained)
        rows, rate = there(digits.batch(step, options.images)), float(digits.rate(step, options.steps))
        for name, g in gradients(params, x[rows], y[rows].long(), torch.where).items():
            repmath.optim.sgd_step(params[name], g, buffers[name], lr=rate, momentum=digits.MOMENTUM, first=step == 0)
    scores, _ = forward(params, x_test, torch.where)
    accuracy = (scores.argmax(dim=1) == y_test).float().mean()
    digits.report(trained(), float(accuracy))


if __name__ == "__main__":
    main()
