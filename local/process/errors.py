"""Errors of the embedded Azure. They know nothing of the product that runs on it.

LocalAzureError              the root
├── LocalRunError            a process cannot start or go on
│   ├── ChildEndedError          local/run/errors.py
│   └── (those of the host)      local/host/errors.py
├── StopRequestedError       what was cut short by a request to stop
├── CosmosError              local/emulators/cosmos/errors.py: what a client of the local Cosmos DB is told
├── AmqpError                local/emulators/eventhubs/amqp/errors.py: what a client of the local Event Hubs is told
├── TokenRefusedError        local/emulators/eventhubs/tokens.py
└── BadSwitchError           local/emulators/eventhubs/admin.py
"""

from __future__ import annotations


class LocalAzureError(Exception):
    """The root of the tree; its text is a whole sentence."""


class LocalRunError(LocalAzureError):
    """The embedded Azure cannot start or go on. Do what the message says, then start it again."""


class StopRequestedError(LocalAzureError):
    """Something was not done to its end, because the process is to stop. No failure: there is nothing to say."""
