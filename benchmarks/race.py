"""Contenders that take turns on one table: the same answers first, then the least CPU time."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import data, peers
from .data import Shape
from .results import Agreement, Figure, Part
from .workers import MissingError, Process, WorkerError

#: Below this correlation the answers are not the same, whatever their difference.
CORRELATION = 0.9999
#: A fit that takes so many seconds is long enough not to be repeated, and needs no second look at memory.
LONG = 10.0
TIES = "ties are cut by row order, shared here"


@dataclass
class Entrant:
    """A contender with its settings, and what it did in this race."""

    peer: str
    method: str
    dtype: str
    settings: dict[str, Any] = field(default_factory=dict)
    #: After the name, in the tables.
    suffix: str = ""
    #: Variables of its process.
    environment: dict[str, str] = field(default_factory=dict)
    threads: int = 1
    #: Its times count so often: for work of which only a part is run.
    times: float = 1.0
    note: str = ""
    #: Compared with the reference: by default as far as its module says.
    compared: bool = True
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    main: list[float] = field(default_factory=list)
    memory: float | None = None
    weights: NDArray[np.float64] | None = None
    out: str = ""

    @property
    def label(self) -> str:
        words = [peers.load(self.peer).NAME, self.suffix, self.dtype]
        return " ".join(word for word in words if word)

    @property
    def process_key(self) -> tuple[Any, ...]:
        """Contenders alike in it share a process."""
        return self.peer, self.threads, tuple(sorted(self.environment.items()))

    @property
    def slot(self) -> str:
        return f"{self.label} {self.method}"


class Arena:
    """Where races are run: tables on disk, processes that stay, and how much time there is.

    Parameters
    ----------
    seconds : float
        CPU seconds per contender and race; the number of rounds follows.
    limit : float
        Seconds after which a round is given up.
    chosen : set of str or None
        Rivals to let in; named ones come at every size. None: all of them, the slow ones on small tables.
    """

    def __init__(self, seconds: float, limit: float, chosen: set[str] | None = None) -> None:
        self.seconds = seconds
        self.limit = limit
        self.chosen = chosen
        self.versions: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="benchmarks-"))
        self._processes: dict[tuple[Any, ...], Process] = {}

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        self.dismiss()
        shutil.rmtree(self._folder)

    def dismiss(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()

    def admits(self, entrant: Entrant, shape: Shape) -> bool:
        """Whether a rival takes part at this size."""
        if entrant.peer not in peers.NAMES:
            return True
        if self.chosen is not None:
            return entrant.peer in self.chosen
        most = peers.load(entrant.peer).MOST_ELEMENTS
        return most is None or shape.elements <= most

    def race(
        self,
        part: Part,
        case: str,
        shape: Shape,
        entrants: list[Entrant],
        reference: int | None = None,
        most_rounds: int = 15,
        memory: bool = True,
    ) -> list[Entrant]:
        """Let everyone take turns; write what came out into ``part``.

        ``reference`` is the place of the entrant with whose weights all others are compared, None: nobody's.
        ``memory``: whether the peak is of interest. Returns those who finished at least one round.
        """
        print(f"  {case} ...", flush=True)
        running = [each for each in entrants if self.admits(each, shape) and self._begins(part, each, shape)]
        rounds = {id(each): self._rounds(each, most_rounds) for each in running}
        for turn in range(1, most_rounds):
            for each in running:
                if turn < rounds[id(each)] and not each.out:
                    self._round(each, memory=turn == 1)
        for each in running:
            _write(part, case, each, memory)
            if each.out:
                part.notes.append(f"{each.label}, {case}: {each.out} after {len(each.cpu)} rounds.")
        for process in self._processes.values():
            if process.alive:
                process.ask({"do": "clear"}, seconds=60.0)
        if reference is not None and entrants[reference].weights is not None:
            _compare(part, case, shape, running, entrants[reference])
        return running

    def _begins(self, part: Part, entrant: Entrant, shape: Shape) -> bool:
        """Prepare a contender, make its first round, keep its weights."""
        module = peers.load(entrant.peer)
        request = {
            "do": "prepare",
            "slot": entrant.slot,
            "peer": entrant.peer,
            "method": entrant.method,
            "settings": entrant.settings,
            "shape": list(shape),
            "dtype": entrant.dtype,
            "folder": None if shape.kind == "cheap" else str(self._stored(shape, entrant.dtype)),
        }
        try:
            answer = self._process(entrant).ask(request, seconds=self.limit + 300.0)
            self.versions[module.NAME] = answer["version"]
            remark = f"{entrant.label}: {answer.get('detail')}."
            if "detail" in answer and remark not in part.notes:
                part.notes.append(remark)
            self._round(entrant, memory=True)
            if entrant.compared and not entrant.out:
                answer = self._process(entrant).ask({"do": "answer", "slot": entrant.slot}, seconds=60.0)
                entrant.weights = np.array(answer["weights"])
        except MissingError as error:
            if module.NAME not in self.missing:
                print(f"  {module.NAME} sits out: {error}", flush=True)
            self.missing[module.NAME] = str(error)
            return False
        except WorkerError as error:
            entrant.out = str(error)
        if entrant.out:
            part.notes.append(f"{entrant.label}, {shape.label}: {entrant.out}.")
            print(f"  {entrant.label}: {entrant.out}", flush=True)
        return not entrant.out

    def _round(self, entrant: Entrant, memory: bool) -> None:
        try:
            request = {"do": "round", "slot": entrant.slot, "memory": memory}
            answer = self._process(entrant).ask(request, seconds=self.limit)
        except WorkerError as error:
            entrant.out = str(error)
            return
        entrant.cpu.append(answer["cpu"] * entrant.times)
        entrant.wall.append(answer["wall"] * entrant.times)
        entrant.main.append(answer["main"] * entrant.times)
        # The second look counts: in the first the contender may have been compiling.
        entrant.memory = answer.get("memory", entrant.memory)

    def _rounds(self, entrant: Entrant, most: int) -> int:
        once = max(entrant.wall[0] / entrant.times, 1e-6)
        # The first round of a compiled contender says little: one more, at least, unless that is long.
        fewest = 2 if once > LONG / 5.0 else 3
        return 1 if once > LONG else int(np.clip(self.seconds / once, fewest, most))

    def _process(self, entrant: Entrant) -> Process:
        key = entrant.process_key
        if key not in self._processes or not self._processes[key].alive:
            venv = peers.load(entrant.peer).VENV
            self._processes[key] = Process(venv, entrant.environment, entrant.threads)
        return self._processes[key]

    def _stored(self, shape: Shape, dtype: str) -> Path:
        """Folder with the table: other environments may have a NumPy with other random numbers."""
        folder = self._folder / f"{shape.kind}-{shape.n_samples}x{shape.n_features}-{dtype}"
        if not folder.exists():
            folder.mkdir()
            X, y = data.make(shape, dtype)
            np.save(folder / "X.npy", X)
            np.save(folder / "y.npy", y)
        return folder


def _write(part: Part, case: str, entrant: Entrant, memory: bool) -> None:
    part.figures.append(Figure(case, entrant.label, "CPU time", "s", min(entrant.cpu), entrant.cpu))
    if entrant.threads > 1:
        part.figures.append(Figure(case, entrant.label, "wall time", "s", min(entrant.wall), entrant.wall))
    if memory and entrant.memory is not None:
        part.figures.append(Figure(case, entrant.label, "peak memory", "MiB", entrant.memory))
    if entrant.note and entrant.note not in part.notes:
        part.notes.append(entrant.note)


def _compare(part: Part, case: str, shape: Shape, entrants: list[Entrant], reference: Entrant) -> None:
    expected = reference.weights
    assert expected is not None
    for each in entrants:
        if each is reference or each.weights is None:
            continue
        module = peers.load(each.peer)
        correlation = float(np.corrcoef(each.weights, expected)[0, 1])
        difference = float(np.max(np.abs(each.weights - expected)) / np.max(np.abs(expected)))
        tied = shape.kind == "genotypes" and each.peer != reference.peer
        differs = each.note or module.DIFFERS or (TIES if tied else "")
        free = bool(differs) or module.TOLERANCE is None
        same = free or bool(difference <= module.TOLERANCE and correlation >= CORRELATION)
        part.agreements.append(
            Agreement(case, each.label, reference.label, correlation, difference, same, differs)
        )
