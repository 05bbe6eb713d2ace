"""All addresses, included from the apps, and those of 0.1.0 whose pages became part of others."""

from typing import Any

from django.urls import include, path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView


class MovedPage(RedirectView):
    """Redirects to `pattern_name`; `query` is put before the query of the old address, `anchor` at the end.

    What `query` names in braces is taken from the old path, and `drop` is a part of it that the new one does not have.
    `renamed`, such as `old=new`, renames a parameter.
    """

    query = ""
    anchor = ""
    drop = ""
    renamed = ""

    def get_redirect_url(self, *args: Any, **kwargs: Any) -> str | None:
        in_path = {
            name: value for name, value in kwargs.items() if name != self.drop and f"{{{name}}}" not in self.query
        }
        address = super().get_redirect_url(*args, **in_path)
        old, _, new = self.renamed.partition("=")
        rest = self.request.META.get("QUERY_STRING", "")
        rest = rest.replace(f"{old}=", f"{new}=") if old else rest
        query = "&".join(filter(None, [self.query.format(**kwargs), rest]))
        return address and "".join([address, query and f"?{query}", self.anchor and f"#{self.anchor}"])


def moved(old: str, new: str, query: str = "", below: str = "campaigns/<slug:name>/", **how: str) -> Any:
    return path(below + old, require_safe(MovedPage.as_view(pattern_name=new, query=query, **how)))


# They redirect until 0.3.0.
MOVED = [
    moved("corpora/", "campaigns", below=""),
    moved("corpora/<path:name>/moments/<int:pk>/", "corpus", "moment={pk}", below=""),
    moved("captions/<int:corpus>/queue/", "captions", "view=queue", below=""),
    moved("captions/<int:corpus>/replaced", "captions", "view=replaced", below=""),
    moved("captions/<int:corpus>/cast/", "captions", "view=cast", below=""),
    moved("account/mail", "account", below=""),
    moved("account/second-factor", "mfa_index", below=""),
    moved("account/sessions", "mfa_index", below=""),
    moved("webhooks/", "campaign-settings", query="tab=webhooks"),
    moved("guideline/changes", "guideline", query="changes="),
    moved("examples/", "guideline"),
    moved("examples/own", "guideline", query="example=own"),
    moved("exports/", "releases", query="tab=files"),
    moved("figures/", "releases"),
    moved("releases/difference", "releases"),
    moved("reviews/", "queries", "view=batches"),
    moved("frontier/", "campaign", "drawer=blockers"),
    moved("digest/", "campaign"),
    moved("history/", "activity"),
    moved("reopenings/", "activity", "view=reopened"),
    moved("reopenings/new", "activity", "view=reopened"),
    moved("work/", "activity", "view=jobs"),
    moved("queries/<int:pk>/withdrawal", "queries", drop="pk"),
    moved("queue/", "inbox"),
    moved("questions/", "inbox"),
    moved("flags/", "inbox", "view=flags"),
    moved("messages/", "inbox", "view=messages"),
    moved("search/", "queries", "view=search"),
    moved("people/", "annotators"),
    moved("people/links", "annotators", "drawer=invitations"),
    moved("people/links.csv", "links-csv"),
    moved("people/<int:worker>/", "annotator"),
    moved("hours/", "annotators", "view=pay"),
    moved("hours.csv", "hours-csv"),
    moved("checks/", "annotators", "view=quality"),
    moved("checks/<int:worker>/<slug:pairs>", "annotator", "view=checks&pairs={pairs}"),
    moved("steering/", "annotators", "view=order"),
    moved("exam/batches/<int:pk>/", "exam", "view=pairs&batch={pk}"),
    moved("exam/people/<int:worker>/", "annotator", "view=exam"),
    moved("agreement/annotators/<int:worker>/", "annotator", "view=agreement"),
    moved("agreement/severity/", "agreement", anchor="severity"),
    moved("agreement/queries/", "agreement", anchor="queries"),
    moved("agreement/judgements/", "judgements"),
    moved("runs/", "leaderboard", query="view=runs"),
    moved("runs/new", "run-upload"),
    moved("runs/<int:number>/queries/", "compare", query="run={number}", renamed="against=run"),
    moved("runs/<int:number>/query", "explain", query="run={number}", renamed="against=run"),
    moved("leaderboard/judged-again/", "leaderboard", query="view=again"),
    moved("held-back/", "leaderboard", query="view=held-back"),
    moved("watches/", "leaderboard", query="view=differences"),
    moved("believe/", "measures"),
    moved("pools/", "unjudged"),
    moved("pools/<int:number>/", "unjudged", query="enlargement={number}"),
    moved("predictors/", "model-judges"),
    moved("predictors/<int:pk>/", "model-judges", query="predictor={pk}"),
    moved("systems/new", "systems", query="drawer=train"),
    moved("systems/<int:number>/search", "system"),
]

urlpatterns = [
    # Addresses are tried in this order, and nothing is asked for as often as a save.
    path("", include("annotate.urls")),
    path("api/v1/", include("api.urls")),
    path("", include("accounts.urls")),
    path("", include("runs.urls")),
    path("", include("demo.urls")),
    *MOVED,  # before the pages of corpora, whose names may have slashes
    path("", include("lead.urls")),
]
handler404 = "base.problem_documents.not_found"
handler500 = "base.problem_documents.server_error"
handler429 = "base.problem_documents.too_many_requests"  # of allauth
