"""An expert in a process of its own: labels until nothing is left, and prints each item once its label is written."""

import sys

from ragstone.labels import Label, LabelStore


def main() -> None:
    path, expert = sys.argv[1:]
    with LabelStore.open(path) as store:
        while (assigned := store.next_item(expert)) is not None:
            store.put(Label(assigned.item.id, assigned.task, expert, "yes", seconds=0.1))
            print(assigned.item.id, assigned.task, flush=True)


if __name__ == "__main__":
    main()
