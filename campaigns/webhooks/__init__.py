"""Webhooks: having other sites told what happens in a campaign."""
