"""The kind of job that writes a release."""

from typing import Any

from corpus.errors import Unavailable
from jobs.errors import JobPostponed
from jobs.registry import Report, kind
from releases.freezing import FREEZE, write
from releases.models import Release


@kind(FREEZE)
def freeze_a_release(arguments: dict[str, Any], report: Report) -> None:
    release = Release.objects.select_related("campaign__corpus").get(pk=arguments["release"])
    try:
        write(release, report)
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
