"""How often the verdict study's intervals cover, on simulated judges with known parameters."""
