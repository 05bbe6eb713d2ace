"""The resources, one module for each part of a campaign. Their serializers are next to them."""
