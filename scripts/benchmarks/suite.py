# SPDX-License-Identifier: Apache-2.0
"""Everything that `scripts/benchmark` measures, size by size."""

from . import costs, figures, processes, secret_service


def measure_size(stage, size, runs, is_quick):
    """Everything that depends on the number of items."""
    programs, options = stage.programs, ["--json"] + ["--quick"] * is_quick
    results = [figures.parsed(programs.run("measure", size, stage.fresh(size), *options))
               for _ in range(runs)]
    found = figures.medians(results)
    # These take the medians of turns themselves.
    folder = stage.fresh(size)
    found += figures.parsed(programs.run("threads", size, folder, *options))
    found += processes.measure(programs, folder, size, is_quick)
    folder = stage.fresh(size)
    if size > 1000:
        found += costs.bytes_per_item(folder, size) + costs.memory(programs, folder, size)
    if size == 10:
        found += costs.system_calls(programs, folder)
    return found + costs.start(programs, folder, size)


def measure(stage, sizes, runs, is_quick):
    print(figures.header())
    everything = []

    def add(found):
        figures.show(found)
        everything.extend(found)

    for size in sizes:
        add(measure_size(stage, size, runs, is_quick))
        stage.drop(size)
    add(figures.derived(everything))
    size = 10_000 if is_quick else 100_000
    add(costs.listing(stage.programs, stage.fresh(size), size))
    add(secret_service.measure(stage.programs, stage.empty("keyring")))
    return everything
