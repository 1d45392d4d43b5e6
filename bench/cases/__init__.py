"""What workloads time, and the facts they time it with: the product, and its yardsticks."""
