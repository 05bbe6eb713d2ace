"""The addresses of the pages of runs."""

from django.urls import path

from runs.views import board, explain, pools, reliability, runs, systems, watches

urlpatterns = [
    path("campaigns/<slug:name>/runs/", runs.index, name="runs"),
    path("campaigns/<slug:name>/runs/new", runs.new, name="run-new"),
    path("campaigns/<slug:name>/runs/new/<slug:token>/", runs.check, name="run-check"),
    path("campaigns/<slug:name>/runs/new/<slug:token>/progress", runs.progress, name="run-progress"),
    path("campaigns/<slug:name>/runs/new/<slug:token>/files", runs.announce_file, name="run-files"),
    path("campaigns/<slug:name>/runs/new/<slug:token>/files/<slug:file>", runs.piece, name="run-piece"),
    path("campaigns/<slug:name>/runs/<int:number>/", runs.detail, name="run"),
    path("campaigns/<slug:name>/runs/<int:number>/file", runs.download, name="run-file"),
    path("campaigns/<slug:name>/runs/<int:number>/visibility", runs.show_to, name="run-visibility"),
    path("campaigns/<slug:name>/runs/<int:number>/queries/", explain.queries, name="run-queries"),
    path("campaigns/<slug:name>/runs/<int:number>/queries/scatter/<slug:format>", explain.scatter, name="run-scatter"),
    path("campaigns/<slug:name>/runs/<int:number>/query", explain.query, name="run-query"),
    path("campaigns/<slug:name>/leaderboard/", board.index, name="leaderboard"),
    path("campaigns/<slug:name>/leaderboard/measures", board.ask_for, name="leaderboard-measure"),
    path("campaigns/<slug:name>/leaderboard/<slug:format>", board.download, name="leaderboard-file"),
    path("campaigns/<slug:name>/believe/", reliability.index, name="believe"),
    path("campaigns/<slug:name>/believe/examine", reliability.ask, name="believe-ask"),
    path("campaigns/<slug:name>/believe/<slug:format>", reliability.download, name="believe-file"),
    path("campaigns/<slug:name>/pools/", pools.index, name="pools"),
    path("campaigns/<slug:name>/pools/scores.csv", pools.as_csv, name="pools-csv"),
    path("campaigns/<slug:name>/pools/propose", pools.propose, name="pool-propose"),
    path("campaigns/<slug:name>/pools/<int:number>/", pools.detail, name="pool"),
    path("campaigns/<slug:name>/pools/<int:number>/open", pools.open_first, name="pool-open"),
    path("campaigns/<slug:name>/watches/", watches.index, name="watches"),
    path("campaigns/<slug:name>/watches/<int:pk>/look", watches.look, name="watch-look"),
    path("campaigns/<slug:name>/watches/<int:pk>/end", watches.end, name="watch-end"),
    path("campaigns/<slug:name>/runs/public/<slug:token>/", runs.public, name="public-run"),
    path("campaigns/<slug:name>/systems/", systems.index, name="systems"),
    path("campaigns/<slug:name>/systems/new", systems.new, name="system-new"),
    path("campaigns/<slug:name>/systems/<int:number>/", systems.detail, name="system"),
    path("campaigns/<slug:name>/systems/<int:number>/remove", systems.remove_one, name="system-remove"),
    path("campaigns/<slug:name>/systems/<int:number>/curves/<slug:format>", systems.curves, name="system-curves"),
    path("campaigns/<slug:name>/systems/<int:number>/search", systems.query, name="system-search"),
]
