"""What a release holds for others: tables and layouts for their tools, the methods section, signatures."""
