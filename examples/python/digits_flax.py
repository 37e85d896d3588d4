"""The network of digits_numpy.py as a Flax module, trained through Optax's interface: the same SHA-256 again."""

import digits
import flax.linen as nn
import jax
import numpy as np
import optax

import repmath.jax as rj


class Conv(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", nn.initializers.zeros, (self.features, x.shape[1], 3, 3))
        bias = self.param("bias", nn.initializers.zeros, (self.features,))
        return rj.conv_general_dilated(x, kernel, (1, 1), "SAME", bias=bias)


class Linear(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        weight = self.param("weight", nn.initializers.zeros, (self.features, x.shape[1]))
        bias = self.param("bias", nn.initializers.zeros, (self.features,))
        return rj.matmul(x, weight.T, bias=bias)


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = rj.max_pool2d(rj.relu(Conv(16, name="conv1")(x)), 2)
        x = rj.max_pool2d(rj.relu(Conv(32, name="conv2")(x)), 2)
        return Linear(10, name="linear")(x.reshape(len(x), -1))


NETWORK = Network()
NAMES = {"conv1": "kernel", "conv2": "kernel", "linear": "weight"}


def to_flax(p):
    return {layer: {weight: p[layer], "bias": p[f"{layer}_bias"]} for layer, weight in NAMES.items()}


def from_flax(p):
    return {
        k: v for layer, weight in NAMES.items() for k, v in ((layer, p[layer][weight]), (f"{layer}_bias", p[layer]["bias"]))
    }


def optimizer(rate):
    return optax.chain(optax.identity(), rj.sgd(lambda count: rate, momentum=digits.MOMENTUM))


@jax.jit
def train_step(p, state, rate, x, target):
    gradients = jax.grad(lambda p: rj.cross_entropy(NETWORK.apply({"params": p}, x), target))(p)
    updates, state = optimizer(rate).update(gradients, state, p)
    return optax.apply_updates(p, updates), state


def main():
    options = digits.arguments()
    (x, y), (x_test, y_test) = digits.data(options.images, options.generated)
    params = to_flax(jax.tree.map(jax.numpy.asarray, digits.weights()))
    state = optimizer(digits.RATE).init(params)
    for step in range(options.steps):
        digits.mark(step, lambda now=params: from_flax(now))
        rows = digits.batch(step, options.images)
        params, state = train_step(params, state, digits.rate(step, options.steps), x[rows], y[rows])
    scores = np.asarray(jax.jit(NETWORK.apply)({"params": params}, x_test))
    digits.report(from_flax(params), np.mean(scores.argmax(axis=1) == y_test))


if __name__ == "__main__":
    main()
