"""The errors by which work says how its job goes on, or does not. Importing them needs no Django."""


class JobError(Exception):
    """A failure whose message says what was wrong, where, and what would be right. The job is not tried again."""


class JobPostponed(Exception):
    """What the work needs is not there now, such as a store or room on a disk. It waits, and uses up no attempt."""


class JobNotYet(JobPostponed):
    """What the job waits for has not come yet, which is no trouble. It looks again some minutes later."""


class JobLeft(JobPostponed):
    """This machine lacks what the job needs, such as a film. Workers on other machines may take the job at once."""


class Stopped(BaseException):
    """The worker was told to stop. It gives its job back, which uses up no attempt."""


class JobLost(Exception):
    """Another worker has taken the job over, because this worker's lease had run out."""


class JobFailed(Exception):
    """What Celery learns of a job that failed, so that its tools show it. The row has the error for people."""
