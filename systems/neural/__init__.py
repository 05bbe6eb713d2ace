"""What the trained systems share. These modules import torch; only modules of systems import them."""
