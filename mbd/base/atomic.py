"""Atomic replacement of files: a name is the old file, whole, or the new one, whole.

The new file is made next to its place, brought to the disk and renamed over it: ``rename`` of POSIX
leaves no instant at which the name is missing or the file is torn. A process that is killed leaves
a hidden file ``.NAME.xxxxxxxx.new``; the next one that writes NAME removes it. Whether its writer
lives is seen by a lock (``flock``), which ends with the process.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_HEAD = 60  # characters of the name that a new file shares: no name is longer than 255 bytes
_BLOCK = 1 << 12  # bytes that a trial writes
_AT_ONCE = 16  # files that the disk is asked for
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DISK = (*_FULL, errno.EFBIG, errno.EIO, errno.EROFS)  # what can go wrong in the midst of writing
_TOKEN = r"[0-9a-f]{8}"


def explained(error: OSError, who: str, path: str | Path) -> OSError:
    """Return an error of the same kind that says who could not write what, and what to do."""
    folder = Path(path).parent
    code = error.errno
    if code in _FULL:
        text = "the disk is full; free some of it, or write to another one"
    elif code == errno.EFBIG:
        text = "files may not be as large (ulimit -f, or the file system); write less, or elsewhere"
    elif code == errno.EISDIR:
        text = "it is a folder; give the name of a file"
    elif code in (errno.ENOTDIR, errno.EEXIST):
        text = f"{folder} is not a folder; choose another place"
    elif code == errno.ENAMETOOLONG:
        text = "the name is too long; choose a shorter one"
    elif code == errno.EROFS:
        text = "the disk is read-only; choose another place"
    elif code in (errno.EACCES, errno.EPERM):
        text = f"{error.strerror}: file and folder must be writable; choose another place, or chmod"
    else:
        text = error.strerror or str(error)
    explanation = type(error)(f"{who}: {path} cannot be written: {text}")
    explanation.errno = code
    return explanation


@contextmanager
def replaced(path: str | Path, who: str) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` at the end of the block.

    Folders that are missing are made. A link stays, what it points to is replaced, with its
    permissions.
    If the block ends by an exception, what was there before is there.

    Parameters
    ----------
    path : str or Path
    who : str
        Named in errors.
    """
    with replaced_together((path,), who) as (file,):
        yield file


@contextmanager
def replaced_together(paths: Sequence[str | Path], who: str) -> Iterator[list[BinaryIO]]:
    """Open new files that take their places at once, after all of them are on the disk."""
    news: list[_New] = []
    try:
        try:
            for path in paths:
                news.append(_New(Path(path), who))
            yield [new.file for new in news]
        except OSError as error:
            if error.errno in _DISK and news:
                raise explained(error, who, news[-1].path) from None
            raise
        for new in news:
            new.bring_to_disk()
        _rename(news)
    finally:
        for new in reversed(news):
            new.leave()


@dataclass(frozen=True)
class Companions:
    """Files that belong to another one, in a folder of their own.

    Attributes
    ----------
    folder : Path
    name : str
        The folder as the file names it, relative to itself.
    """

    folder: Path
    name: str

    def write(self, name: str, content: bytes) -> None:
        """Write one of them; all are on the disk before the file that names them is."""
        with (self.folder / name).open("xb") as file:
            file.write(content)


@contextmanager
def replaced_set(path: str | Path, who: str) -> Iterator[tuple[BinaryIO, Companions]]:
    """Do as `replaced` for a file NAME.xyz that names others, which are in ``NAME/xxxxxxxx/``.

    The old file keeps its old members until the new file, which names new ones, takes its place;
    then the old members are removed.
    """
    place = Path(os.path.realpath(path))
    home = place.with_suffix("")
    try:
        with replaced(path, who) as file:
            token = file.name.split(".")[-2]
            try:
                (home / token).mkdir(parents=True)
            except OSError as error:
                raise explained(error, who, home / token) from None
            yield file, Companions(home / token, f"{home.name}/{token}")
            _for_each(_bring_to_disk, home / token)
    finally:
        _remove_others(place, home)


def _remove_others(place: Path, home: Path) -> None:
    """Remove the members that a file does not name, but for those of one who is writing."""
    with suppress(OSError):
        text = place.read_bytes() if place.exists() else b""
        for folder in home.iterdir():
            if not re.fullmatch(_TOKEN, folder.name) or f"/{folder.name}/".encode() in text:
                continue
            if not list(place.parent.glob(f".*.{folder.name}.new")):
                with suppress(OSError):
                    _for_each(os.unlink, folder)  # no folders in it
                    folder.rmdir()
        home.rmdir()  # if nothing is in it


def _for_each(do: Callable[[Path], None], folder: Path) -> None:
    """Do something with all files of a folder at once: a disk answers many as fast as one."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(do, list(folder.iterdir())):
            pass


def _bring_to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDWR)
    try:
        with _unless_unknown():
            os.fsync(file)
    finally:
        os.close(file)


def _rename(news: "list[_New]") -> None:
    """Rename all files, whoever interrupts."""
    try:
        for new in news:
            new.rename()
    except KeyboardInterrupt:
        for new in news:
            new.rename()
        raise


def check_writable(path: str | Path, who: str) -> None:
    """Raise what writing this file would raise now, by trying; leave all as it is."""
    new = _New(Path(path), who)
    try:
        if not new.special:
            new.file.write(bytes(_BLOCK))
            new.bring_to_disk()
    except OSError as error:
        raise error if error.errno is None else explained(error, who, path) from None
    finally:
        new.leave()


class _New:
    """A file next to its place."""

    def __init__(self, path: Path, who: str) -> None:
        self.path, self.who = path, who
        self.place = Path(os.path.realpath(path))
        self.folders: list[Path] = []  # that were made for it
        self.renamed = False
        try:
            self.special = os.path.exists(path) and not (path.is_dir() or self.place.is_file())
            if self.special:  # a terminal, a pipe: there is nothing to be replaced
                self.file: BinaryIO = path.open("wb")
                return
            self.mode = self._mode()
            self._make_folders()
            _clean(self.place)
            self.file = _opened(self.place)
        except OSError as error:
            self._remove_folders()
            raise explained(error, who, path) from None

    def _mode(self) -> os.stat_result | None:
        """Return the status of the present file, if it may be replaced."""
        if self.place.is_symlink():
            raise OSError(errno.ELOOP, "its links go round in a circle; remove one of them")
        try:
            status = self.place.stat()
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not status.st_mode & 0o222 or not os.access(self.place, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is read-only")
        return status

    def _make_folders(self) -> None:
        folder, missing = self.place.parent, []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self.folders.append(folder)

    def _remove_folders(self) -> None:
        for folder in reversed(self.folders):
            with suppress(OSError):  # another one wrote there
                folder.rmdir()

    def bring_to_disk(self) -> None:
        """Write the bytes in memory to disk."""
        if self.special:
            self.file.flush()
            return
        try:
            self.file.flush()
            with _unless_unknown():
                os.fsync(self.file.fileno())
            if self.mode is not None and hasattr(os, "fchmod"):
                with suppress(OSError):  # a file of another one's
                    os.fchown(self.file.fileno(), self.mode.st_uid, self.mode.st_gid)
                os.fchmod(self.file.fileno(), stat.S_IMODE(self.mode.st_mode))
        except OSError as error:
            raise explained(error, self.who, self.path) from None

    def rename(self) -> None:
        """Put the file in its place."""
        if self.special or self.renamed:
            return
        if os.name == "nt":  # an open file cannot be moved there
            self.file.close()
        try:
            os.replace(self.file.name, self.place)
        except FileNotFoundError:
            if not self.place.exists():
                raise
        except OSError as error:
            raise explained(error, self.who, self.path) from None
        self.renamed = True
        with suppress(OSError):  # the folder remembers the name
            folder = os.open(self.place.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def leave(self) -> None:
        """Close the file; remove it if it is not in its place."""
        with suppress(OSError):  # what cannot be written need not be
            self.file.close()
        if not (self.special or self.renamed):
            with suppress(OSError):
                os.unlink(self.file.name)
            self._remove_folders()


@contextmanager
def scratch(name: str, who: str) -> Iterator[Path]:
    """Make a folder NAME-xxxxxxxx for files of a moment, which is removed at the end.

    A process that is killed leaves it; the next one that makes such a folder removes it.
    """
    home = Path(tempfile.gettempdir())
    for old in home.glob(f"{name}-*"):
        _remove_left(old)
    with ExitStack() as stack:
        try:
            yield _new_folder(name, stack)
        except OSError as error:
            if error.errno in _DISK and error.strerror:  # not explained yet
                raise explained(error, who, error.filename or home / name) from None
            raise


def _new_folder(name: str, stack: ExitStack) -> Path:
    """Return a new folder of files of a moment, locked; at the end it is removed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        if os.name == "nt":  # where no folder can be locked
            return folder
        with suppress(FileNotFoundError):  # removed before it was locked
            lock = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, lock)
            _locked(lock, wait=True)
            if os.path.samestat(folder.stat(), os.fstat(lock)):
                return folder


def _remove_left(folder: Path) -> None:
    """Remove a folder of files of a moment whose process is gone; on Windows none is known."""
    if os.name == "nt":
        return
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid == os.getuid() and _locked(lock, wait=False):
                shutil.rmtree(folder)
        finally:
            os.close(lock)


@contextmanager
def _unless_unknown() -> Iterator[None]:
    """Pass over what a file system cannot do at all."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK):
            raise


def _opened(place: Path) -> BinaryIO:
    """Return a new file next to a place, locked."""
    while True:
        new = place.with_name(f".{place.name[:_HEAD]}.{secrets.token_hex(4)}.new")
        file: Any = new.open("x+b")
        _locked(file.fileno(), wait=True)
        with suppress(FileNotFoundError):  # removed before it was locked
            if os.name == "nt" or os.path.samestat(new.stat(), os.fstat(file.fileno())):
                return file
        file.close()


def _clean(place: Path) -> None:
    """Remove what writers that were killed left next to a place."""
    pattern = re.compile(rf"\.{re.escape(place.name[:_HEAD])}\.{_TOKEN}\.new")
    for entry in os.scandir(place.parent):
        if not pattern.fullmatch(entry.name):
            continue
        with suppress(OSError):
            file = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _locked(file, wait=False):
                    os.unlink(entry.path)
            finally:
                os.close(file)


def _locked(file: int, wait: bool) -> bool:
    """Lock an open file; return whether it is ours."""
    try:
        import fcntl
    except ImportError:  # Windows: a file that is open cannot be removed, which says the same
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
