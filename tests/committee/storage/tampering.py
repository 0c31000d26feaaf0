"""Saved committees, altered by accident or by someone who means harm."""

from __future__ import annotations

import hashlib
import json

from minmargin.committee.storage import index


def seal(folder, change=lambda content: None):
    """Write the JSON file anew, with checksums that are right again, as someone who means harm would."""
    path = folder / "committee.json"
    written = json.loads(path.read_text())
    content = written["content"]
    for name in content["files"]:
        data = (folder / name).read_bytes()
        content["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    change(content)
    path.write_text(json.dumps({**written, "sha256": index._checksum(content)}))


def mutated(data, rng):
    """Return a file with a bit flipped, cut short, or with bytes left out, doubled or overwritten."""
    at, length = int(rng.integers(len(data))), int(rng.choice([1, 2, 8, 100]))
    before, after = data[:at], data[at + length :]
    flipped = bytes([data[at] ^ (1 << int(rng.integers(8)))])
    return [
        before + flipped + data[at + 1 :],
        before,
        before + after,
        data[: at + length] + data[at:],
        before + rng.bytes(length) + after,
    ][int(rng.integers(5))]
