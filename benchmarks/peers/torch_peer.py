"""PyTorch, eager, as its performance guide advises on a CPU: fused optimizer, gradients set to None, channels last.

With --compile a step is one program of torch.compile; with --flush-denormal denormal numbers are zero; with --autocast
an eager step takes its products of bfloat16 numbers.
Cases ddp_… run DistributedDataParallel over gloo in two processes of one thread each.
"""

import os
import tempfile

import torch
from torch import nn

from cases import ADAM_EPSILON, LEARNING_RATE, MOMENTUM, make_data, measure, parse_arguments, parse_case, report


class LastStep(nn.Module):
    """An LSTM's output of the last step."""

    def __init__(self, features, units):
        super().__init__()
        self.lstm = nn.LSTM(features, units, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


class BasicBlock(nn.Module):
    """Two convolutions with normalization beside a shortcut; a stride makes it a 1 x 1 convolution, with normalization."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, filters, 3, stride, 1, bias=False), normalization(filters),
                                  nn.ReLU(inplace=True), nn.Conv2d(filters, filters, 3, 1, 1, bias=False),
                                  normalization(filters))
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(inputs, filters, 1, stride, bias=False), normalization(filters))

    def forward(self, x):
        return nn.functional.relu(self.body(x) + self.shortcut(x), inplace=True)


def normalization(features):
    return nn.BatchNorm2d(features, eps=1e-3, momentum=0.01)


def make_resnet18():
    layers, width = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), normalization(64), nn.ReLU(inplace=True)], 64
    for filters in (64, 128, 256, 512):
        layers += [BasicBlock(width, filters, 1 if filters == 64 else 2), BasicBlock(filters, filters, 1)]
        width = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def make_vgg():
    layers, width = [], 3
    for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for filters in stage:
            layers += [nn.Conv2d(width, filters, 3, padding=1), nn.ReLU(inplace=True)]
            width = filters
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 512), nn.ReLU(inplace=True), nn.Linear(512, 512),
                         nn.ReLU(inplace=True), nn.Linear(512, 10))


class UNet(nn.Module):
    """Two levels and a bottom, one logit a pixel."""

    def __init__(self):
        super().__init__()

        def level(inputs, filters):
            return nn.Sequential(nn.Conv2d(inputs, filters, 3, padding=1), nn.ReLU(inplace=True),
                                 nn.Conv2d(filters, filters, 3, padding=1), nn.ReLU(inplace=True))

        self.down_1, self.down_2, self.bottom = level(1, 32), level(32, 64), level(64, 128)
        self.up_2, self.up_1, self.head = level(192, 64), level(96, 32), nn.Conv2d(32, 1, 1)
        self.pool, self.enlarge = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x):
        first = self.down_1(x)
        second = self.down_2(self.pool(first))
        x = self.bottom(self.pool(second))
        x = self.up_2(torch.cat([self.enlarge(x), second], 1))
        return self.head(self.up_1(torch.cat([self.enlarge(x), first], 1)))


def make_conv1d():
    """As Conv2d over images of height 1, since Conv1d, which has no channels last, takes 30 % longer."""
    return nn.Sequential(nn.Conv2d(32, 64, (1, 5), padding=(0, 2)), nn.ReLU(inplace=True), nn.MaxPool2d((1, 2)),
                         nn.Conv2d(64, 128, (1, 5), padding=(0, 2)), nn.ReLU(inplace=True), nn.MaxPool2d((1, 2)),
                         nn.Conv2d(128, 128, (1, 3), padding=(0, 1)), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(128, 10))


DEEP = {"resnet18": make_resnet18, "vgg": make_vgg, "unet": UNet, "conv1d": make_conv1d}


def make_model(case):
    if case.model in DEEP:
        return DEEP[case.model]().to(memory_format=torch.channels_last)
    if case.model == "transformer":
        block = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True, norm_first=True)
        return nn.Sequential(block, nn.Flatten(), nn.Linear(64 * 256, 10))
    if case.model == "lstm":
        return nn.Sequential(LastStep(32, 128), nn.Linear(128, 10))
    if case.model == "cnn":
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
                              nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 64), nn.ReLU(), nn.Linear(64, 10))
        return model.to(memory_format=torch.channels_last)
    layers, width = [], case.extents[0]
    for hidden in case.hidden:
        layers += [nn.Linear(width, hidden), nn.Tanh() if case.model == "surrogate" else nn.ReLU()]
        width = hidden
    return nn.Sequential(*layers, nn.Linear(width, case.outputs))


def make_optimizer(case, parameters, **kind):
    if case.adam:
        return torch.optim.Adam(parameters, lr=LEARNING_RATE, eps=ADAM_EPSILON, **kind)
    return torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=MOMENTUM, **kind)


def eager_step(case, model, loss_function, options, compiled_forward=False):
    """With a compiled forward pass, and so a compiled backward pass, if asked for."""
    optimizer = make_optimizer(case, model.parameters(), fused=True)

    def loss_of(x, y):
        if not options.autocast:
            return loss_function(model(x), y)
        with torch.autocast(options.device, torch.bfloat16):
            return loss_function(model(x), y)

    if compiled_forward:
        loss_of = torch.compile(loss_of, mode="max-autotune")

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def compiled_step(case, model, loss_function):
    """Forward, backward and optimizer as one program.

    Its gradients are those of torch.func, since a program with `backward` in it is left and entered again there: 350
    instead of 550 us for mlp_b32. An LSTM is not compiled so, since its 64 steps would be unrolled: 34 ms for lstm_b32,
    of which eager PyTorch takes 9.
    """
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    optimizer = make_optimizer(case, parameters.values(), foreach=True)

    def loss_of(parameters, buffers, x, y):
        buffers = dict(buffers)  # moving statistics are written in place
        return loss_function(torch.func.functional_call(model, (parameters, buffers), (x,)), y), buffers

    def step(x, y):
        gradients, (loss, _) = torch.func.grad_and_value(loss_of, has_aux=True)(parameters, buffers, x, y)
        for name, parameter in parameters.items():
            parameter.grad = gradients[name]
        optimizer.step()
        return loss

    return torch.compile(step, mode="max-autotune")


def make_batches(case, rank, ranks, device):
    x, y = make_data(case)
    rows = slice(case.batch * rank // ranks, case.batch * (rank + 1) // ranks)
    x, y = torch.from_numpy(x[:, rows].copy()).to(device), torch.from_numpy(y[:, rows].copy()).to(device)
    if case.model in DEEP or case.model == "cnn":
        x = [a.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last) for a in x]
    if case.loss == "classes":
        y = y.long()
    elif case.loss == "pixels":
        y = [b.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last) for b in y]
    return list(zip(x, y))


def train(case, options, rank=0, ranks=1, agree=lambda steps: steps):
    torch.manual_seed(1)
    model = make_model(case).to(options.device)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    loss_function = {"squares": nn.MSELoss, "pixels": nn.BCEWithLogitsLoss, "classes": nn.CrossEntropyLoss}[case.loss]()
    if options.compile and case.model != "lstm":
        train_step = compiled_step(case, model, loss_function)
    else:
        train_step = eager_step(case, model, loss_function, options, options.compile)
    batches = make_batches(case, rank, ranks, options.device)

    def run(steps):
        for step in range(steps):
            loss = train_step(*batches[step % len(batches)])
        return loss.item()

    return *measure(run, options, agree), sum(p.numel() for p in model.parameters())


def distributed_process(rank, ranks, case, options, folder):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_flush_denormal(options.flush_denormal)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)

    def agree(steps):
        chosen = torch.tensor([steps])
        torch.distributed.broadcast(chosen, 0)
        return int(chosen)

    result = train(case, options, rank, ranks, agree)
    if rank == 0:
        report(case, *result)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    arguments = parse_arguments(__doc__, ("--compile", "a step as one program of torch.compile"),
                                ("--autocast", "products of an eager step take bfloat16 numbers"),
                                ("--flush-denormal", "denormal numbers are zero"))
    torch.set_flush_denormal(arguments.flush_denormal)  # before there are threads, which inherit it
    torch.set_num_threads(arguments.threads)
    for one in map(parse_case, arguments.case):
        if one.distributed:
            with tempfile.TemporaryDirectory() as store:
                torch.multiprocessing.spawn(distributed_process, (2, one, arguments, store), nprocs=2)
        else:
            report(one, *train(one, arguments))
