"""The errors of jobs that are not tried again."""


class JobError(Exception):
    """A failure whose message says what was wrong, where, and what would be right."""


class JobLost(Exception):
    """Another worker has taken the job over, because this worker's lease had run out."""
