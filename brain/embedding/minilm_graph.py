"""Writes all-MiniLM-L6-v2 as an ONNX graph, straight from its published weights.

`build_graph(folder)` needs numpy, safetensors and onnx; neither torch nor transformers. The same weights
give the same bytes every time (`installed.GRAPH_FORMAT` goes up when this module changes them), and every
operator is a standard one (ONNX opset 23), so any runtime can check the result.

The graph takes `input_ids` and `attention_mask`, both int64 [batch, tokens], and gives `sentence_embedding`,
float32 [batch, hidden], of unit length. It is a BERT encoder with mean pooling:

- architecture: Devlin et al., "BERT", https://arxiv.org/abs/1810.04805, sections 3 and A.1
- pooling and normalisation: the model's own modules.json (Transformer, Pooling by mean, Normalize)
- int8: weights are symmetric, one scale for each output column; activations are quantised at run time, one
  scale and zero point a tensor (DynamicQuantizeLinear), so a vector depends slightly on the other texts of
  its batch.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

OUTPUT = "sentence_embedding"

_OPSET, _IR = 23, 11  # opset 23 brought Attention, which runtimes fuse; IR 11 is the container it came with
_Array = npt.NDArray[Any]


def build_graph(folder: Path, *, int8: bool = True) -> bytes:
    """The ONNX file for the model whose `config.json` and `model.safetensors` lie in `folder`.

    With `int8=False` the weights stay float32: four times the size, the reference for the quantised graph.
    Raises OSError for a missing file, KeyError or ValueError for files of another architecture.
    """
    config = json.loads((folder / "config.json").read_text("utf-8"))
    if config["model_type"] != "bert" or config["hidden_act"] != "gelu":
        raise ValueError(f"not a BERT encoder with GELU: {config['model_type']}, {config['hidden_act']}")
    weights: dict[str, _Array] = load_file(str(folder / "model.safetensors"))
    encoder = _Encoder(weights, config["layer_norm_eps"], config["num_attention_heads"], int8=int8)
    tokens = encoder.op("Shape", "input_ids", start=1, end=2)
    x = encoder.embeddings(tokens)
    mask = encoder.attention_mask(tokens)
    for number in range(config["num_hidden_layers"]):
        x = encoder.layer(x, mask, f"encoder.layer.{number}.")
    encoder.pool(x)
    return _serialise(encoder, config["hidden_size"])


class _Graph:
    """Nodes and constants in the order they were made; names follow from that order alone."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def const(self, value: _Array, name: str | None = None) -> str:
        name = name or f"const_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values: int) -> str:
        return self.const(np.array(values, np.int64))

    def ops(self, kind: str, *inputs: str, outputs: Sequence[str], **attributes: Any) -> None:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=name, **attributes))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; gives the output's name."""
        output = f"{kind}_{len(self.nodes)}"
        self.ops(kind, *inputs, outputs=[output], **attributes)
        return output


class _Encoder(_Graph):
    """The parts of a BERT encoder, each added to the graph under its weights' published name."""

    def __init__(self, weights: dict[str, _Array], epsilon: float, heads: int, *, int8: bool) -> None:
        super().__init__()
        self.weights, self.epsilon, self.heads, self.int8 = weights, epsilon, heads, int8

    def embeddings(self, tokens: str) -> str:
        word = self.weights["embeddings.word_embeddings.weight"]
        # All tokens are of segment 0 (one text at a time), so its row is added to the positions once and
        # for all.
        position = (
            self.weights["embeddings.position_embeddings.weight"]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        if self.int8:
            values, scale = _quantise(word, axis=1)
            rows = self.op("Gather", self.const(values, "words"), "input_ids")
            rows = self.op("Cast", rows, to=TensorProto.FLOAT)
            x = self.op("Mul", rows, self.op("Gather", self.const(scale, "word_scales"), "input_ids"))
        else:
            x = self.op("Gather", self.const(word, "words"), "input_ids")
        positions = self.const(position, "positions")
        x = self.op("Add", x, self.op("Slice", positions, self.ints(0), tokens, self.ints(0)))
        return self.layer_norm(x, "embeddings.LayerNorm")

    def attention_mask(self, tokens: str) -> str:
        """[batch, tokens] of 0/1 as the [batch, 1, queries, keys] booleans that Attention wants."""
        mask = self.op("Cast", "attention_mask", to=TensorProto.BOOL)
        mask = self.op("Unsqueeze", mask, self.ints(1, 2))
        shape = self.op("Concat", self.ints(1), self.ints(1), tokens, self.ints(1), axis=0)
        return self.op("Expand", mask, shape)

    def layer(self, x: str, mask: str, prefix: str) -> str:
        names = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        query, key, value = self.linears(x, *names)
        heads = {"q_num_heads": self.heads, "kv_num_heads": self.heads}
        y = self.op("Attention", query, key, value, mask, **heads)
        (y,) = self.linears(y, f"{prefix}attention.output.dense")
        x = self.layer_norm(self.op("Add", y, x), f"{prefix}attention.output.LayerNorm")
        (y,) = self.linears(x, f"{prefix}intermediate.dense")
        (y,) = self.linears(self.op("Gelu", y), f"{prefix}output.dense")
        return self.layer_norm(self.op("Add", y, x), f"{prefix}output.LayerNorm")

    def linears(self, x: str, *names: str) -> list[str]:
        """x @ W.T + b for each named layer; in int8 they share one quantisation of x."""
        if not self.int8:
            return [self._linear(x, name) for name in names]
        values, scale, zero = f"{x}_int8", f"{x}_scale", f"{x}_zero"
        self.ops("DynamicQuantizeLinear", x, outputs=[values, scale, zero])
        return [self._linear_int8(values, scale, zero, name) for name in names]

    def _linear(self, x: str, name: str) -> str:
        y = self.op("MatMul", x, self.const(self.weights[f"{name}.weight"].T, f"{name}.weight"))
        return self.op("Add", y, self._constant(f"{name}.bias"))

    def _linear_int8(self, x: str, x_scale: str, x_zero: str, name: str) -> str:
        # onnxruntime knows this sequence and runs it as one kernel; another order of the factors would not
        # fuse.
        values, scale = _quantise(self.weights[f"{name}.weight"].T, axis=0)
        y = self.op("MatMulInteger", x, self.const(values, f"{name}.weight"), x_zero)
        y = self.op("Cast", y, to=TensorProto.FLOAT)
        y = self.op("Mul", y, self.op("Mul", x_scale, self.const(scale[0], f"{name}.scale")))
        return self.op("Add", y, self._constant(f"{name}.bias"))

    def layer_norm(self, x: str, name: str) -> str:
        scale, bias = self._constant(f"{name}.weight"), self._constant(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.epsilon)

    def pool(self, x: str) -> None:
        """Mean over the real tokens, then unit length: the mean's divisor cancels, so a sum will do."""
        weight = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        total = self.op("MatMul", self.op("Unsqueeze", weight, self.ints(1)), x)
        self.ops("LpNormalization", self.op("Squeeze", total, self.ints(1)), outputs=[OUTPUT], axis=-1, p=2)

    def _constant(self, name: str) -> str:
        return self.const(self.weights[name], name)


def _quantise(weights: _Array, axis: int) -> tuple[_Array, _Array]:
    """Symmetric int8 with one float32 scale for each slice along `axis`."""
    scale = np.abs(weights).max(axis=axis, keepdims=True) / 127
    scale[scale == 0] = 1
    return np.rint(weights / scale).astype(np.int8), scale.astype(np.float32)


def _serialise(graph: _Graph, hidden: int) -> bytes:
    def value(name: str, kind: int, shape: list[str | int]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [value(n, TensorProto.INT64, ["batch", "tokens"]) for n in ("input_ids", "attention_mask")]
    outputs = [value(OUTPUT, TensorProto.FLOAT, ["batch", hidden])]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, graph.constants)
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR, producer_name="brainlake"
    )
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data
