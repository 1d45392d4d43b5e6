"""AMQP 1.0 on the wire: values, frames, performatives and messages. Knows nothing of Event Hubs."""
