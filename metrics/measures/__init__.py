"""The measures as functions on arrays: definitions, conventions, matching and aggregation."""
