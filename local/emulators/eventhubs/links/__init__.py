"""AMQP connections, sessions and links of the local Event Hubs."""
