"""Webhooks: other sites are told what happens in a campaign, if the operator allows them."""
