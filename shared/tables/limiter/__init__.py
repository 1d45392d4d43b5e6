"""How many calls to one storage account may be out at the same time."""
