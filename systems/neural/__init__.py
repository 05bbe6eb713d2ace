"""What the trained systems share. Those that import torch are imported by modules of systems only."""
