"""What the measured counts mean on Azure: how far it scales, and what it costs."""
