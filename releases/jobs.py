"""The kind of job that writes a release."""

from typing import Any

from jobs.registry import Report, kind
from releases.freezing import FREEZE, write
from releases.models import Release


@kind(FREEZE)
def freeze_a_release(arguments: dict[str, Any], report: Report) -> None:
    write(Release.objects.select_related("campaign__corpus").get(pk=arguments["release"]), report)
