"""Build what students and learning systems send: trees of names as folders, zips and tars, honest or not."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

CODE = b"def scaled_dot_product_attention(Q, K, V, mask=None):\n    return Q, K\n"
NOTEBOOK = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


Tree = Mapping[str, Union[bytes, str, Link, "Tree"]]
"""Names to contents; a name ending in "/" is an empty folder, and a tree in a tree is packed as what its name says."""


def contents(name: str, value: bytes | str | Link | Tree) -> bytes:
    """What a file of this name holds."""
    if isinstance(value, Link):
        raise TypeError(f"{name}: a link has no contents")
    if isinstance(value, Mapping):
        return tarred(value, "gz" if name.endswith("gz") else "") if ".t" in name else zipped(value)
    return value.encode() if isinstance(value, str) else value


def unfold(tree: Tree, root: Path) -> Path:
    """The tree as a folder on disk."""
    root.mkdir(parents=True, exist_ok=True)
    for name, value in tree.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, Link):
            path.symlink_to(value.target)
        else:
            path.write_bytes(contents(name, value))
    return root


def zipped(tree: Tree, below: str = "") -> bytes:
    """The tree as a zip, all of it below a folder if one is given."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in tree.items():
            info = zipfile.ZipInfo(below + name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(value, Link):
                info.create_system = 3
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                archive.writestr(info, value.target)
            else:
                archive.writestr(info, b"" if name.endswith("/") else contents(name, value))
    return data.getvalue()


def zip_of(*members: tuple[str, bytes], kinds: dict[str, int] | None = None) -> bytes:
    """A zip with these members, whatever they are called and however often; `kinds`: what Unix says they are."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members:
            info = zipfile.ZipInfo("x")
            info.external_attr = (kinds or {}).get(name, 0) << 16
            info.filename = name  # the constructor would change some names
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.NameToInfo.clear()  # so that it does not warn of a name that comes twice
            archive.writestr(info, value)
    return data.getvalue()


def tarred(tree: Tree, packing: str = "") -> bytes:
    """The tree as a tar, packed with gzip when `packing` is "gz"."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, value in tree.items():
            info = tarfile.TarInfo(name)
            if isinstance(value, Link):
                info.type, info.linkname = tarfile.SYMTYPE, value.target
                archive.addfile(info)
            elif name.endswith("/"):
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                body = contents(name, value)
                info.size = len(body)
                archive.addfile(info, io.BytesIO(body))
    return gzip.compress(data.getvalue(), mtime=0) if packing == "gz" else data.getvalue()


def device() -> bytes:
    """A tar with an honest file and a device."""
    data = io.BytesIO(tarred({"attention.py": CODE}))
    with tarfile.open(fileobj=data, mode="a") as archive:
        info = tarfile.TarInfo("null")
        info.type = tarfile.CHRTYPE
        archive.addfile(info)
    return data.getvalue()


def locked(tree: Tree) -> bytes:
    """A zip whose members all say that they need a password."""
    data = bytearray(zipped(tree))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        start = data.find(mark)
        while start >= 0:
            data[start + place] |= 1
            start = data.find(mark, start + 4)
    return bytes(data)


def method(tree: Tree, number: int) -> bytes:
    """A zip whose members all say that they are packed by another method."""
    data = bytearray(zipped(tree))
    for mark, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        start = data.find(mark)
        while start >= 0:
            data[start + place : start + place + 2] = number.to_bytes(2, "little")
            start = data.find(mark, start + 4)
    return bytes(data)


def spoiled(tree: Tree) -> bytes:
    """A zip with one wrong byte in its first file."""
    data = bytearray(zipped(tree))
    data[60] ^= 0xFF
    return bytes(data)


def overlapping() -> bytes:
    """A zip with two names for the same bytes."""
    data = zip_of(("attention.py", CODE), ("attentiom.py", CODE))
    end = data.rfind(b"PK\1\2")
    return data[: end + 42] + (0).to_bytes(4, "little") + data[end + 46 :]


def without_utf8_flag(tree: Tree) -> bytes:
    """A zip as macOS writes it: names in UTF-8, without a word of it."""
    data = bytearray(zipped(tree))
    for mark, place in ((b"PK\3\4", 7), (b"PK\1\2", 9)):
        start = data.find(mark)
        while start >= 0:
            data[start + place] &= ~0x08
            start = data.find(mark, start + 4)
    return bytes(data)
