"""What a call of ``mbd.Stepper`` costs, CPU time: ``python tests/bench/stepper.py``."""

import time

from study import H, links

import mbd


def spent(call, n):
    """Return the least of five mean times of a call [us]."""
    call()
    best = 1e9
    for _ in range(5):
        clock = time.process_time()
        for _ in range(n):
            call()
        best = min(best, (time.process_time() - clock) / n)
    return 1e6 * best


def main():
    """Print a table."""
    system = links()
    system.add(mbd.Motor("motor", system.joints["hinge0"], 0.0))
    stepper = mbd.Stepper(system, H)
    count = [0]

    def act():
        count[0] += 1
        stepper["motor.effort"] = 1e-3 * (count[0] % 7)
        stepper.step()

    for name, call, n in (
        ("step()", stepper.step, 2000), ("set an effort and step()", act, 1000),
        ("state", lambda: stepper.state, 300), ("reset()", stepper.reset, 1000),
        ("a quantity by name", lambda: stepper["link2.position"], 200),
    ):  # fmt: skip
        print(f"{name:>26}: {spent(call, n):7.1f} us")


if __name__ == "__main__":
    main()
