"""The definitions of the stored app: as first deployed, as changed, and with a fault fixed."""

from __future__ import annotations

from typing import Final

FIRST: Final = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: id, deletes: {when: gone}}
  devices: {cosmos: {database: shop, container: devices}, partitionKey: [site, room], deletes: {feed: allVersions}}
  orders: {eventHub: orders, partitionKey: customer.id}
  prices: {eventHub: prices, partitionKey: shop, version: revision}
  visits: {cosmos: {database: shop, container: visits}, partitionKey: id}
indexes:
  by-town: {source: customers, partition: town, sort: name, project: [phone]}
  by-name:
    source: customers
    partition: {path: name, fold: case}
    sort: [{path: age, type: integer, order: desc}, {path: nick, nulls: index}]
    project: all
  by-team: {source: customers, each: {team: teams}, partition: team, project: keys, where: "!hidden"}
  by-kind:
    source: customers
    partition: kind
    sort: {path: name, order: desc}
    project: keys
    shards: 3
    hot: {vip: 5}
  placed:
    source: customers
    partition: town
    project: [phone]
    placement: {by: hash, accounts: [INDEX_STORAGE, INDEX_2]}
  listed:
    source: customers
    partition: town
    project: keys
    placement: {by: list, map: {Redmond: INDEX_2}, default: INDEX_STORAGE}
  ranged:
    source: customers
    partition: town
    project: keys
    placement: {by: range, map: [{to: m, account: INDEX_STORAGE}, {from: m, account: INDEX_2}]}
  expiring: {source: customers, partition: town, project: [phone], expire: {path: until, after: 1h}}
  by-month: {source: customers, partition: town, project: [phone], expire: {path: seen, after: 60d, tables: month}}
  former: {source: customers, partition: phone, project: keys}
  devices-by-model: {source: devices, partition: model, sort: {path: on, type: boolean}, project: [place]}
  orders-by-status:
    source: orders
    partition: status
    sort: {path: placedAt, type: datetime, order: desc}
    project: [total]
  prices-by-item: {source: prices, partition: item, sort: {path: price, type: number}, project: all}
  visits-by-page: {source: visits, partition: page, project: keys, expire: {path: at, after: 1d, tables: day}}
"""

_FORMER: Final = "  former: {source: customers, partition: phone, project: keys}\n"
# Of three indexes the new generation is built: one is switched to, one is in its facts, one stands by.
SECOND: Final = (
    FIRST.replace("sort: name, project: [phone]", "sort: name, project: [email, phone]")
    .replace(', where: "!hidden"', "")
    .replace("project: [total]", "project: [total, note]")
    .replace(_FORMER, "")
)
# Of one more it is in its rest. These are the definitions that the app has in the end.
THIRD: Final = SECOND.replace("shards: 3", "shards: 4")
# An age that is no number fits into this index.
FIXED: Final = THIRD.replace("path: age, type: integer", "path: age, type: string")
