"""What holds for all inputs, searched by hypothesis."""
