"""Scale beyond one machine: Azure's published limits, simulated with the pipeline's measured operation counts."""
