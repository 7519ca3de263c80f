"""A picture without a display: ``python -m mbd.cli.checks.render`` prints JSON."""

from __future__ import annotations

import io
import json


def main() -> None:
    """Draw the matrix of a small model and print how many bytes of PNG it has."""
    import matplotlib as mpl

    mpl.use("Agg")
    import mbd

    system = mbd.System()
    system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    buffer = io.BytesIO()
    system.build().assemble().spy("M").savefig(buffer)
    data = buffer.getvalue()
    if data[:4] != b"\x89PNG":
        raise ValueError("the picture is no PNG")
    print(json.dumps({"bytes": len(data)}))


if __name__ == "__main__":
    main()
