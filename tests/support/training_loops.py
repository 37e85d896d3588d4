"""Trainings by other packages' loops inside of a block: python training_loops.py NAME ... prints the digests of each."""

import json
import sys
import tempfile

import torch

import repmath.torch


def rows():
    """Data that is drawn inside of a block."""
    with repmath.torch.reproducible():
        torch.manual_seed(0)
        return torch.randn(24, 8), torch.randint(3, (24,))


def network(p=0.1):
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Dropout(p), torch.nn.Linear(16, 3))


def transformers(callback="own", **options):
    """The digests by step, and the trainer."""
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    from repmath.torch.transformers import ReproducibleCallback

    with repmath.torch.reproducible():
        torch.manual_seed(0)
        model = GPT2LMHeadModel(
            GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
        )
        ids = torch.randint(0, 64, (20, 12))
    data = options.pop("data", [{"input_ids": i, "labels": i} for i in ids])
    callback = ReproducibleCallback(every=2) if callback == "own" else callback
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=1, per_device_train_batch_size=4, report_to=[], use_cpu=True, save_strategy="no",
            logging_strategy="no", eval_strategy="epoch", disable_tqdm=True, seed=3, **options,
        )  # fmt: skip
        called = [callback] if callback else []
        Trainer(model, arguments, train_dataset=data, eval_dataset=data[:4], callbacks=called).train()
    return callback.digests if callback else {5: repmath.torch.digest(model)}


def lightning(fails=False):
    """The digests by step of `batch_by_batch`, by Lightning's Trainer."""
    import logging

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    import lightning.pytorch as pl

    from repmath.torch.lightning import ReproducibleCallback

    class Module(pl.LightningModule):
        def configure_model(self):
            if not hasattr(self, "net"):
                torch.manual_seed(1)
                self.net = network(0.0)

        def training_step(self, batch, i):
            if fails and i == 1:
                raise ValueError("a step that fails")
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch, i):
            self.log("loss", torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    data = torch.utils.data.TensorDataset(*rows())
    callback = ReproducibleCallback(every=1)
    trainer = pl.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[callback],
    )  # fmt: skip
    module = Module()
    trainer.fit(module, torch.utils.data.DataLoader(data, 8), torch.utils.data.DataLoader(data, 8))
    trainer.validate(module, torch.utils.data.DataLoader(data, 8), verbose=False)
    return callback.digests


def batch_by_batch():
    """A loop in a block; digests by step."""
    x, y = rows()
    with repmath.torch.reproducible():
        torch.manual_seed(1)
        model = network(0.0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        digests = {0: repmath.torch.digest(model)}
        for step in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[8 * step : 8 * step + 8]), y[8 * step : 8 * step + 8]).backward()
            optimizer.step()
            digests[step + 1] = repmath.torch.digest(model, optimizer)
    return digests


def accelerate(prepared=True):
    """The digest at the end of a loop with accelerate's objects, or the same loop without."""
    from accelerate import Accelerator

    data = torch.utils.data.TensorDataset(*rows())
    with repmath.torch.reproducible():
        torch.manual_seed(2)
        model = network()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        loader = torch.utils.data.DataLoader(data, 8)
        accelerator = Accelerator(cpu=True)
        if prepared:
            model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss) if prepared else loss.backward()
            accelerator.clip_grad_norm_(model.parameters(), 1.0) if prepared else torch.nn.utils.clip_grad_norm_(
                model.parameters(), 1.0
            )
            optimizer.step()
    return {3: repmath.torch.digest(model, optimizer)}


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}))
