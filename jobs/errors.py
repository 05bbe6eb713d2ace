"""What a job raises when trying again would not help."""


class JobError(Exception):
    """A readable failure: what was wrong, where, and what would be right."""


class JobLost(Exception):
    """This worker's lease has passed to another, which runs the job now."""
