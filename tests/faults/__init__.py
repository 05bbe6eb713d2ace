"""Every fault that Reeljudge has to survive, tried against real servers. `make faults` runs them and prints a table."""
