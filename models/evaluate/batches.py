"""Measures what batches over several tables would save: `python -m models.evaluate.batches`.

Each network runs on so many pictures at once as tables would give, on one core; printed is the
processor time a picture. Where a batch saves nothing, one process for the networks of all tables
saves nothing either, and each table can have its own.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
import onnxruntime as ort

from vision.inference.load import packaged

NETWORKS = ("detector", "corners", "classifier", "mouth", "cut")
PX = 416  # side of the detector's picture: what it was trained on, and looks at


def session_of(name: str) -> ort.InferenceSession:
    """Open a network as a reader does: one thread that does not spin."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    path = str(packaged(name))
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def ms_a_picture(session: ort.InferenceSession, batch: int, runs: int) -> float:
    """Return the processor milliseconds that a picture takes in batches of that size."""
    (given,) = session.get_inputs()
    shape = [batch, *(side if isinstance(side, int) else PX for side in given.shape[1:])]
    pictures = np.random.default_rng(1).random(shape, np.float32)
    session.run(None, {given.name: pictures})
    began = process_time()
    for _ in range(runs):
        session.run(None, {given.name: pictures})
    return 1000 * (process_time() - began) / runs / batch


def main() -> None:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="runs of each (20)")
    arguments = parser.parse_args()
    print("ms a picture, in batches of " + ", ".join(map(str, arguments.batches)))
    for name in NETWORKS:
        session = session_of(name)
        took = [ms_a_picture(session, batch, arguments.runs) for batch in arguments.batches]
        print(f"{name:10} " + " ".join(f"{ms:6.2f}" for ms in took), flush=True)


if __name__ == "__main__":
    main()
