"""A small reader of Bicep: syntax, symbols, and what a deployment would send to Azure."""
