"""What runs in a process of its own: servers, and programs that time themselves."""
