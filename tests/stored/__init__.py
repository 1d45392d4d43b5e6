"""What is stored: names, literals and positions that no change of the code may change, and data of an earlier tree."""
