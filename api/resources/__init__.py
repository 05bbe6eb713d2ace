"""The resources, one module for each part of a campaign. Their shapes stand beside them."""
