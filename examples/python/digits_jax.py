"""The network of digits_numpy.py in JAX: its gradients are JAX's, its weights end with the same SHA-256."""

import digits
import jax
import jax.numpy as jnp
import numpy as np

import repmath.jax as rj


def forward(p, x):
    a = rj.conv_general_dilated(x, p["conv1"], (1, 1), "SAME", bias=p["conv1_bias"])
    b = rj.max_pool2d(rj.relu(a), 2)
    c = rj.conv_general_dilated(b, p["conv2"], (1, 1), "SAME", bias=p["conv2_bias"])
    d = rj.max_pool2d(rj.relu(c), 2)
    return rj.matmul(d.reshape(len(x), -1), p["linear"].T, bias=p["linear_bias"])


def loss(p, x, target):
    return rj.cross_entropy(forward(p, x), target)


def optimizer(rate):
    return rj.sgd(lambda count: rate, momentum=digits.MOMENTUM)


@jax.jit
def train_step(p, state, rate, x, target):
    updates, state = optimizer(rate).update(jax.grad(loss)(p, x, target), state, p)
    return rj.apply_updates(p, updates), state


def main():
    options = digits.arguments()
    (x, y), (x_test, y_test) = digits.data(options.images, options.generated)
    params = jax.tree.map(jnp.asarray, digits.weights())
    state = optimizer(digits.RATE).init(params)
    for step in range(options.steps):
        digits.mark(step, lambda now=params: now)
        rows = digits.batch(step, options.images)
        params, state = train_step(params, state, digits.rate(step, options.steps), x[rows], y[rows])
    scores = np.asarray(jax.jit(forward)(params, x_test))
    digits.report(params, np.mean(scores.argmax(axis=1) == y_test))


if __name__ == "__main__":
    main()
