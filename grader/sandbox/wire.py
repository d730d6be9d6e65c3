"""The wire between a marker and a sandboxed child: a small JSON header, then raw tensor bytes. No pickle.

A frame is two little-endian lengths (u32 header, u64 payload), the header, the payload, in which each tensor begins at
a multiple of 16 bytes from the frame's start. Everything is bounded before anything is allocated, in both directions,
because the child's side is hostile. NaN and infinities are values like any others. A tensor is described by dtype,
shape, strides, device and requires_grad, so that a check can pass a transposed view; autograd itself does not cross.
"""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor

from grader.call import Layout, numbers

PREFIX = struct.Struct("<IQ")
MAX_HEADER = 8 << 20
MAX_PAYLOAD = 256 << 20
MAX_TENSORS = 512
ALIGNED = 16
"""Tensors begin at multiples of so many bytes, as memory of Python's does: the library reads a complex128 that begins
elsewhere with an instruction that ends the process."""
CHUNK = 1 << 16
"""Bytes taken from a channel at once: more, and the memory for them would be fetched from the system each time."""

DTYPES: dict[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Malformed(Exception):
    """A frame that breaks the format or its bounds. From a child: the student's process is at fault."""


class TensorHeader(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """What a frame says of one tensor: its numbers stand in the payload, contiguous, whatever strides it has."""

    dtype: str
    shape: tuple[int, ...]
    layout: Layout


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON part of a frame. The tensors stand in the order of their bytes."""

    message: dict[str, Any]
    tensors: tuple[TensorHeader, ...]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Header)


class Packer:
    """Collects the tensors of one outgoing frame."""

    def __init__(self) -> None:
        self.headers: list[TensorHeader] = []
        self.chunks: list[bytes] = []

    def tensor(self, tensor: Tensor, device: str = "cpu", requires_grad: bool | None = None) -> int:
        """Add a dense CPU tensor, labelled with the device it stands on; its index in the frame.

        Raises Malformed when it can't be sent: sparse, quantised, `meta`, or too large.
        """
        if tensor.dtype not in NAMES or tensor.layout != torch.strided or not tensor.is_cpu:
            raise Malformed(f"a {tensor.dtype} {tensor.layout} tensor on {tensor.device} can't be sent")
        if tensor.numel() * tensor.element_size() > MAX_PAYLOAD or len(self.headers) >= MAX_TENSORS:
            raise Malformed("too many or too large tensors to send")
        grad = tensor.requires_grad if requires_grad is None else requires_grad
        plain = tensor.detach()
        if plain.is_conj() or plain.is_neg():
            plain = plain.resolve_conj().resolve_neg()
        self.chunks += _aligned(numbers(plain))
        layout = Layout(device, plain.stride(), grad)
        self.headers.append(TensorHeader(NAMES[plain.dtype], tuple(plain.shape), layout))
        return len(self.headers) - 1

    def frame(self, message: dict[str, Any]) -> bytes:
        """The whole frame, ready to send. Raises Malformed when it is too large."""
        header = _encoder.encode(Header(message, tuple(self.headers)))
        header += b" " * (-(PREFIX.size + len(header)) % ALIGNED)
        length = sum(map(len, self.chunks))
        if len(header) > MAX_HEADER or length > MAX_PAYLOAD:
            raise Malformed("the frame is too large")
        return b"".join([PREFIX.pack(len(header), length), header, *self.chunks])


def _aligned(chunk: bytes) -> list[bytes]:
    """The chunk, and what is missing to a multiple of ALIGNED."""
    over = len(chunk) % ALIGNED
    return [chunk, bytes(ALIGNED - over)] if over else [chunk]


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[Tensor], list[Layout]]:
    """The next frame from a blocking channel on which one frame is under way. Raises EOFError, and Malformed."""
    buffer = bytearray()
    while not whole(buffer):
        chunk = channel.recv(CHUNK)
        if not chunk:
            raise EOFError
        buffer += chunk
    return parse(buffer)


def whole(buffer: bytearray) -> int:
    """Bytes of the frame that the buffer begins with; 0 when it is not whole. Raises Malformed beyond the bounds."""
    if len(buffer) < PREFIX.size:
        return 0
    header, payload = PREFIX.unpack_from(buffer)
    if header > MAX_HEADER or payload > MAX_PAYLOAD:
        raise Malformed("the frame announces more than it may hold")
    size = PREFIX.size + int(header) + int(payload)
    return size if len(buffer) >= size else 0


def parse(buffer: bytearray) -> tuple[dict[str, Any], list[Tensor], list[Layout]]:
    """A complete frame as (message, contiguous CPU tensors, their layouts). Raises Malformed.

    The tensors' memory is the buffer's, which must not change any more.
    """
    header, _ = PREFIX.unpack_from(buffer)
    offset = PREFIX.size + header
    try:
        parsed = _decoder.decode(memoryview(buffer)[PREFIX.size : offset])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(f"bad header: {error}") from None
    if len(parsed.tensors) > MAX_TENSORS:
        raise Malformed("too many tensors")
    tensors: list[Tensor] = []
    for described in parsed.tensors:
        tensor, offset = _tensor(described, buffer, offset)
        tensors.append(tensor)
    if offset != len(buffer):
        raise Malformed("the payload is longer than its tensors")
    return parsed.message, tensors, [described.layout for described in parsed.tensors]


def _tensor(described: TensorHeader, buffer: bytearray, offset: int) -> tuple[Tensor, int]:
    dtype = DTYPES.get(described.dtype)
    shape = described.shape
    if dtype is None or len(shape) > 64 or len(described.layout.strides) != len(shape):
        raise Malformed("bad dtype, shape or strides")
    count = 1
    for size in shape:
        if not 0 <= size <= MAX_PAYLOAD:
            raise Malformed("bad shape")
        count *= size
    if count == 0:
        if max(shape, default=0) > MAX_PAYLOAD or math.prod(size or 1 for size in shape) > 2**40:
            raise Malformed("bad shape")
        return torch.empty(shape, dtype=dtype), offset
    end = offset + count * dtype.itemsize
    end += -end % ALIGNED
    if end > len(buffer) or offset % ALIGNED:
        raise Malformed("the payload is shorter than its tensors, or they are not aligned")
    return torch.frombuffer(buffer, dtype=dtype, count=count, offset=offset).view(shape), end


def pick(tensors: Sequence[Tensor], index: Any) -> Tensor:
    """The tensor with this index in its frame. Raises Malformed when there is none."""
    if not isinstance(index, int) or not 0 <= index < len(tensors):
        raise Malformed("no such tensor")
    return tensors[index]
