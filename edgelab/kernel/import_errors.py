"""Why a PyTorch model could not become a program; free of torch and tvm so that every process can raise them."""

from __future__ import annotations

from edgelab.errors import TaskError


class UnsupportedOperator(TaskError):
    """The importer has no translation for one PyTorch operator of a task's model."""

    def __init__(self, operator: str, task: str, *, detail: str = "") -> None:
        super().__init__(
            f"task {task}: PyTorch operator {operator} cannot be imported into Relax.",
            advice="Express the model with supported operators, or give the operator a converter in "
            "edgelab/kernel/converters.py.",
        )
        self.operator = operator
        self.task = task
        self.detail = detail


class ExportError(TaskError):
    """torch.export or the translation to Relax refused a task's model for a reason other than one operator."""

    def __init__(self, task: str, reason: str, *, detail: str = "") -> None:
        super().__init__(
            f"task {task}: the model cannot be exported: {reason}",
            advice="The model needs static shapes, tensor inputs, no data-dependent control flow, "
            "and a tensor or a tuple of tensors as output.",
        )
        self.task = task
        self.detail = detail
