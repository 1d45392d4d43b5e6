"""What an application writes over the typed classes: checked by mypy --strict, and run against a local run.

Each `type: ignore` is a mistake that the classes find: mypy complains of one that is not needed.
"""

import asyncio
import sys

from indexes import AsyncCustomersByTown, CustomersByName, CustomersByTown, OrdersNewestFirst, OrderTotals

import shared  # the application's own package of that name
from index_tables import AsyncIndexTables, IndexTables, Page, ProblemError

URL, KEY, CUSTOMER = sys.argv[1:]


def mistakes(tables: IndexTables) -> None:
    """Never called."""
    towns = CustomersByTown(tables)
    towns.find()  # type: ignore[call-arg]
    towns.find(town=1)  # type: ignore[arg-type]
    towns.find(town="R", lastNam="S")  # type: ignore[call-arg]
    towns.find(town="R", select=["fax"])  # type: ignore[list-item]
    towns.page(town="R").entries[0].key["city"]  # type: ignore[typeddict-item]
    towns.page(town="R").entries[0].data["fax"]  # type: ignore[typeddict-item]


def names(tables: IndexTables) -> list[str]:
    """The last names of a town."""
    found: list[str] = []
    for entry in CustomersByTown(tables).find(town="Redmond", lastName__ge="A", select=["phone"], page_size=5):
        last_name: str = entry.key["lastName"]
        found.append(f"{last_name} {entry.data.get('phone') is not None}")
    return found


def worth(tables: IndexTables) -> float:
    """What the orders of a customer are worth."""
    groups = list(OrderTotals(tables).find(customer=CUSTOMER))
    whole: int = sum(group.data["orders"] for group in groups)
    newest = OrdersNewestFirst(tables).page(customer=CUSTOMER, placedAt__ge="2000-01-01")
    assert whole == len(newest), (groups, newest)
    return sum(group.data["worth"] for group in groups)


def spelled(tables: IndexTables) -> int:
    """How many share the name of the first, however it is spelled; of a batch, the pages and not the problems."""
    first = CustomersByTown(tables).page(town="Redmond", page_size=1).entries[0]
    pages = CustomersByName(tables).get_many([{"lastName": first.key["lastName"].upper()}], page_size=50)
    return sum(len(page) for page in pages if isinstance(page, Page) and not isinstance(page, ProblemError))


async def awaited() -> int:
    """How many are in a town."""
    async with AsyncIndexTables(URL, key=KEY) as tables:
        towns = AsyncCustomersByTown(tables)
        found = [entry.id async for entry in towns.find(town="Redmond")]
        assert await towns.count(town="Redmond") == len(found)
        return len(found)


with IndexTables(URL, key=KEY) as opened:
    listed = names(opened)
    assert listed == sorted(listed)
    assert spelled(opened) > 0
    print(shared.OWNER, len(listed), asyncio.run(awaited()), worth(opened) > 0)
