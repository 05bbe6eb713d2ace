"""Files of features that name other files, lie about their size, or never end.

Each builder writes one into a folder of features of two videos, `a` and `b` with three clips of four features each, and
returns the path that a reader is given. Beside the folder lies `secret`, which no reader may read.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from numpy.lib import format as npy

SHAPE = (3, 4)
DURATIONS = {"a": 9.0, "b": 9.0}
CLIP_SECONDS = 3.0
Build = Callable[[Path], Path]


def rows() -> np.ndarray:
    return np.arange(12, dtype=np.float32).reshape(SHAPE)


def secret(folder: Path) -> Path:
    """A file of this machine whose bytes could pass for features."""
    file = folder.parent / "secret"
    file.write_bytes(rows().tobytes())
    return file


def _hdf5(folder: Path, add: Callable[[h5py.File], Any]) -> Path:
    path = folder / "features.h5"
    with h5py.File(path, "w") as file:
        file["b"] = rows()
        add(file)
    return path


def _stored_in(folder: Path, other: str) -> Path:
    kept = [(other, 0, rows().nbytes)]
    return _hdf5(folder, lambda file: file.create_dataset("a", SHAPE, np.float32, external=kept))


def external_storage(folder: Path) -> Path:
    return _stored_in(folder, str(secret(folder)))


def external_storage_without_end(folder: Path) -> Path:
    return _stored_in(folder, "/dev/zero")


def external_storage_in_a_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return _stored_in(folder, str(folder / "fifo"))


def _other(folder: Path) -> Path:
    with h5py.File(folder.parent / "other.h5", "w") as file:
        file["a"] = rows()
    return folder.parent / "other.h5"


def external_link(folder: Path) -> Path:
    other = str(_other(folder))
    return _hdf5(folder, lambda file: file.__setitem__("a", h5py.ExternalLink(other, "/a")))


def soft_link(folder: Path) -> Path:
    return _hdf5(folder, lambda file: file.__setitem__("a", h5py.SoftLink("/b")))


def virtual_data_set(folder: Path) -> Path:
    layout = h5py.VirtualLayout(SHAPE, np.float32)
    layout[:] = h5py.VirtualSource(str(_other(folder)), "a", shape=SHAPE)
    return _hdf5(folder, lambda file: file.create_virtual_dataset("a", layout))


def huge_data_set(folder: Path) -> Path:
    shape = (2**40, 4)
    return _hdf5(folder, lambda file: file.create_dataset("a", shape, np.float32, chunks=SHAPE))


def wide_data_set(folder: Path) -> Path:
    shape = (3, 2**40)
    return _hdf5(folder, lambda file: file.create_dataset("a", shape, np.float32, chunks=SHAPE))


def _folder(folder: Path, add: Callable[[Path], Any]) -> Path:
    (folder / "features").mkdir()
    np.save(folder / "features" / "b.npy", rows())
    add(folder / "features" / "a.npy")
    return folder / "features"


def npy_header(shape: tuple[int, ...], descr: str = "<f4") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return npy.magic(1, 0) + struct.pack("<H", len(text)) + text


def header_that_asks_for_terabytes(folder: Path) -> Path:
    return _folder(folder, lambda file: file.write_bytes(npy_header((10**12, 2))))


def header_that_asks_for_more_than_there_is(folder: Path) -> Path:
    return _folder(folder, lambda file: file.write_bytes(npy_header((3, 10**8)) + rows().tobytes()))


def file_with_a_hole(folder: Path) -> Path:
    """A file of 64 GiB that takes no room on the disk."""

    def add(file: Path) -> None:
        header = npy_header((2**32, 4))
        file.write_bytes(header)
        os.truncate(file, len(header) + 2**36)

    return _folder(folder, add)


def wide_file_with_a_hole(folder: Path) -> Path:
    def add(file: Path) -> None:
        header = npy_header((3, 2**32))
        file.write_bytes(header)
        os.truncate(file, len(header) + 3 * 2**34)

    return _folder(folder, add)


def pickled_file(folder: Path) -> Path:
    return _folder(folder, lambda file: np.save(file, np.array([{}], object), allow_pickle=True))


def fifo(folder: Path) -> Path:
    return _folder(folder, os.mkfifo)


def fifo_as_npz(folder: Path) -> Path:
    return _folder(folder, lambda file: os.mkfifo(file.with_suffix(".npz")))


def fifo_as_tensor(folder: Path) -> Path:
    return _folder(folder, lambda file: os.mkfifo(file.with_suffix(".pt")))


def npz_of_several_arrays(folder: Path) -> Path:
    return _folder(folder, lambda file: np.savez(file.with_suffix(".npz"), rgb=rows(), flow=rows()))


def npz_with_nothing(folder: Path) -> Path:
    return _folder(folder, lambda file: np.savez(file.with_suffix(".npz")))


class Opener:
    """A pickle that would open a file when it is loaded."""

    def __reduce__(self) -> Any:
        return open, ("/etc/passwd",)


def _tensor(folder: Path, content: Any) -> Path:
    return _folder(folder, lambda file: torch.save(content, file.with_suffix(".pt")))


def tensor_file_with_an_object(folder: Path) -> Path:
    return _tensor(folder, {"features": Opener()})


def tensor_without_end(folder: Path) -> Path:
    """One row that is told to be 2⁴⁰ of them."""
    return _tensor(folder, torch.zeros(1, 4).expand(2**40, 4))


def tensor_of_whole_numbers(folder: Path) -> Path:
    return _tensor(folder, torch.zeros(SHAPE, dtype=torch.int64))


def sparse_tensor(folder: Path) -> Path:
    return _tensor(folder, torch.zeros(SHAPE).to_sparse())


def tensor_of_the_old_format(folder: Path) -> Path:
    """A pickle by itself, whose parts cannot be looked at before they are read."""

    def add(file: Path) -> None:
        torch.save(torch.zeros(SHAPE), file.with_suffix(".pt"), _use_new_zipfile_serialization=False)

    return _folder(folder, add)


def tensor_that_is_cut_off(folder: Path) -> Path:
    def add(file: Path) -> None:
        torch.save(torch.zeros(SHAPE), file.with_suffix(".pt"))
        os.truncate(file.with_suffix(".pt"), 700)

    return _folder(folder, add)


def tensor_file_with_a_packed_pickle(folder: Path) -> Path:
    """Some kilobytes that unpack to four million lists, each in the next one."""

    def add(file: Path) -> None:
        with zipfile.ZipFile(file.with_suffix(".pt"), "w", zipfile.ZIP_DEFLATED) as stored:
            stored.writestr("archive/data.pkl", b"\x80\x02" + b"]" * 2**22)
            stored.writestr("archive/version", "3\n")

    return _folder(folder, add)


def tensors_that_are_none(folder: Path) -> Path:
    torch.save({"a": "text", "b": torch.zeros(SHAPE)}, folder / "features.pt")
    return folder / "features.pt"


def device_as_tensors(folder: Path) -> Path:
    (folder / "features.pt").symlink_to("/dev/zero")
    return folder / "features.pt"


def group_of_several(folder: Path) -> Path:
    def add(file: h5py.File) -> None:
        file["a/rgb"], file["a/flow"] = rows(), rows()

    return _hdf5(folder, add)


def group_of_groups(folder: Path) -> Path:
    return _hdf5(folder, lambda file: file.create_group("a/features/more"))


def external_link_in_a_group(folder: Path) -> Path:
    other = str(_other(folder))
    return _hdf5(folder, lambda file: file.__setitem__("a/features", h5py.ExternalLink(other, "/a")))


def soft_link_in_a_group(folder: Path) -> Path:
    return _hdf5(folder, lambda file: file.__setitem__("a/features", h5py.SoftLink("/b")))


def device(folder: Path) -> Path:
    return _folder(folder, lambda file: file.symlink_to("/dev/zero"))


def link_that_leads_out(folder: Path) -> Path:
    np.save(folder.parent / "other.npy", rows())
    return _folder(folder, lambda file: file.symlink_to(folder.parent / "other.npy"))


def fifo_instead_of_a_file(folder: Path) -> Path:
    os.mkfifo(folder / "features.npz")
    return folder / "features.npz"


def device_instead_of_a_file(folder: Path) -> Path:
    (folder / "features.h5").symlink_to("/dev/zero")
    return folder / "features.h5"


def _npz(folder: Path, content: bytes, how: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "features.npz"
    with zipfile.ZipFile(path, "w", how) as file:
        with file.open("b.npy", "w") as member:
            np.save(member, rows())
        file.writestr("a.npy", content)
    return path


def zip_bomb(folder: Path) -> Path:
    """Some kilobytes that unpack to 64 MiB; the header says so."""
    return _npz(folder, npy_header((2**22, 4)) + bytes(2**26))


def zip_bomb_behind_a_right_header(folder: Path) -> Path:
    return _npz(folder, npy_header(SHAPE) + bytes(2**26))


def zip_member_that_is_larger_than_it_says(folder: Path) -> Path:
    content = npy_header(SHAPE) + rows().tobytes()
    path = _npz(folder, content + bytes(2**26))
    whole, right = (struct.pack("<I", len(content) + more) for more in (2**26, 0))
    path.write_bytes(path.read_bytes().replace(whole, right))
    return path


def member_packed_by_lzma(folder: Path) -> Path:
    return _npz(folder, npy_header(SHAPE) + rows().tobytes(), zipfile.ZIP_LZMA)


def header_without_end(folder: Path) -> Path:
    """Some kilobytes that unpack to a header of 64 MiB, which says that it has two gigabytes."""
    return _npz(folder, b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b" " * 2**26)


def pickled_member(folder: Path) -> Path:
    path = folder / "features.npz"
    np.savez(path, a=np.array([{}], object), b=rows(), allow_pickle=True)
    return path


NOT_TENSORS = "features: video 'a': not tensors alone; expected tensors as torch.save stores them since torch 1.6"
FILES: dict[Build, str] = {
    external_storage: "features.h5: video 'a': a data set whose values are in another file; expected a data set",
    external_storage_without_end: "features.h5: video 'a': a data set whose values are in another file",
    external_storage_in_a_fifo: "features.h5: video 'a': a data set whose values are in another file",
    external_link: "features.h5: video 'a': an external link; expected a data set that this file holds",
    soft_link: "features.h5: video 'a': a soft link; expected a data set that this file holds",
    virtual_data_set: "features.h5: video 'a': a virtual data set; expected a data set whose values are in this file",
    huge_data_set: "features.h5: video 'a': 1099511627776 clips of 3 s: too long for 9 s; expected 3",
    wide_data_set: "features.h5: video 'a': 1,099,511,627,776 features a clip; expected at most 32,768",
    header_that_asks_for_terabytes: "features: video 'a': its header promises 8,000,000,000,000 bytes of float32",
    header_that_asks_for_more_than_there_is: "features: video 'a': its header promises 1,200,000,000 bytes of float32",
    file_with_a_hole: "features: video 'a': 4294967296 clips of 3 s: too long for 9 s; expected 3",
    wide_file_with_a_hole: "features: video 'a': 4,294,967,296 features a clip; expected at most 32,768",
    pickled_file: "features: video 'a': pickled objects; expected numbers",
    fifo: "features: video 'a': no regular file; expected an array that NumPy or torch has stored",
    fifo_as_npz: "features: video 'a': no regular file; expected an array that NumPy or torch has stored",
    fifo_as_tensor: "features: video 'a': no regular file; expected an array that NumPy or torch has stored",
    npz_of_several_arrays: "features: video 'a': holds 'flow', 'rgb'; expected one array, or one that is called",
    npz_with_nothing: "features: video 'a': holds nothing; expected one array, or one that is called 'features'",
    tensor_file_with_an_object: NOT_TENSORS,
    tensor_without_end: "features: video 'a': 1099511627776 clips of 3 s: too long for 9 s; expected 3",
    tensor_of_whole_numbers: "features: video 'a': a tensor of torch.int64; expected floats",
    sparse_tensor: "features: video 'a': a sparse tensor; expected a tensor of numbers",
    tensor_of_the_old_format: NOT_TENSORS,
    tensor_that_is_cut_off: NOT_TENSORS,
    tensor_file_with_a_packed_pickle: "features: video 'a': compressed; expected tensors as torch.save stores them",
    tensors_that_are_none: "features.pt: video 'a': a str; expected a tensor of numbers",
    device_as_tensors: "features.pt: is no regular file; expected .h5, .npz, .pt, or a folder of",
    group_of_several: "features.h5: video 'a': holds 'flow', 'rgb'; expected one array, or one that is called",
    group_of_groups: "features.h5: video 'a': a group of groups; expected a data set, or a group with one",
    external_link_in_a_group: "features.h5: video 'a': an external link; expected a data set that this file holds",
    soft_link_in_a_group: "features.h5: video 'a': a soft link; expected a data set that this file holds",
    device: "features: video 'a': a link that leads out of the folder; expected the file itself",
    link_that_leads_out: "features: video 'a': a link that leads out of the folder; expected the file itself",
    fifo_instead_of_a_file: "features.npz: is no regular file; expected .h5, .npz, .pt, or a folder of",
    device_instead_of_a_file: "features.h5: is no regular file; expected .h5, .npz, .pt, or a folder of",
    zip_bomb: "features.npz: video 'a': 4194304 clips of 3 s: too long for 9 s; expected 3",
    zip_bomb_behind_a_right_header: "features.npz: video 'a': its header promises 48 bytes of float32",
    zip_member_that_is_larger_than_it_says: "features.npz: video 'a': cannot be read (Bad CRC-32 for file 'a.npy')",
    member_packed_by_lzma: "features.npz: video 'a': compressed in another way than NumPy compresses",
    header_without_end: "features.npz: video 'a': a header of 2,147,483,648 bytes; expected at most 10,000",
    pickled_member: "features.npz: video 'a': pickled objects; expected numbers",
}
