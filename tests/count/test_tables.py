"""Tables of the elimination grow with the fill, also where loops close everywhere."""

import mbd


def net(n):
    """Return a square net of bodies on bushings."""
    system, bodies = mbd.System(), {}
    for i in range(n * n):
        here = (i // n, i % n)
        bodies[here] = system.add(mbd.RigidBody(f"b{i}", mass=1.0, inertia=(1, 1, 1)))
        for before in ((here[0] - 1, here[1]), (here[0], here[1] - 1)):
            if before in bodies:
                one, name = bodies[before], f"b{i} {before}"
                system.add(mbd.Bushing(name, one, bodies[here], at=(0, 0, 0), stiffness=[1.0] * 6))
    return system.build()


def test_tables_grow_with_the_fill():
    small, large = net(4), net(12)
    groups = [sum(len(f.updates) for f in model.fronts) for model in (small, large)]
    entries = [len(model.I) for model in (small, large)]
    fill = [n / len(model.fronts) for n, model in zip(groups, (small, large), strict=True)]
    assert fill[1] > 1.8 * fill[0]  # what each body reaches
    assert entries[1] - entries[0] < 28 * (groups[1] - groups[0])
