"""The addresses of the pages of runs."""

from django.urls import path

from runs.views import board, explain, measures, model_judges, runs, systems, unjudged

urlpatterns = [
    path("campaigns/<slug:name>/leaderboard/", board.index, name="leaderboard"),
    path("campaigns/<slug:name>/leaderboard/public/", board.public, name="public-leaderboard"),
    path("campaigns/<slug:name>/leaderboard/measures", board.ask_for, name="leaderboard-measure"),
    path("campaigns/<slug:name>/leaderboard/held-back", board.change_held_back, name="held-back-change"),
    path("campaigns/<slug:name>/leaderboard/differences", board.watch_difference, name="watch-begin"),
    path("campaigns/<slug:name>/leaderboard/differences/<int:pk>", board.change_watch, name="watch-change"),
    path("campaigns/<slug:name>/leaderboard/judged-again.csv", board.rejudged_csv, name="rejudged-csv"),
    path(
        "campaigns/<slug:name>/leaderboard/figures/<slug:figure>.<slug:format>", board.figure, name="leaderboard-figure"
    ),
    path("campaigns/<slug:name>/leaderboard/<slug:format>", board.download, name="leaderboard-file"),
    path("campaigns/<slug:name>/upload/", runs.upload, name="run-upload"),
    path("campaigns/<slug:name>/upload/<slug:token>/", runs.upload, name="upload-check"),
    path("campaigns/<slug:name>/upload/<slug:token>/progress", runs.progress, name="run-progress"),
    path("campaigns/<slug:name>/upload/<slug:token>/files", runs.announce_file, name="run-files"),
    path("campaigns/<slug:name>/upload/<slug:token>/files/<slug:file>", runs.piece, name="run-piece"),
    path("campaigns/<slug:name>/runs/<int:number>/", runs.detail, name="run"),
    path("campaigns/<slug:name>/runs/<int:number>/file", runs.download, name="run-file"),
    path("campaigns/<slug:name>/runs/<int:number>/description.json", runs.description, name="run-description"),
    path("campaigns/<slug:name>/runs/<int:number>/visibility", runs.show_to, name="run-visibility"),
    path("campaigns/<slug:name>/runs/<int:number>/entry", runs.enter_run, name="run-entry"),
    path("campaigns/<slug:name>/runs/<int:number>/<slug:figure>.<slug:format>", explain.figure, name="run-figure"),
    path("campaigns/<slug:name>/runs/public/<slug:token>/", runs.public, name="public-run"),
    path("campaigns/<slug:name>/runs/public/<slug:token>/file", runs.public_file, name="public-run-file"),
    path("campaigns/<slug:name>/compare/", explain.compare, name="compare"),
    path("campaigns/<slug:name>/explain/", explain.explain, name="explain"),
    path("campaigns/<slug:name>/measures/", measures.index, name="measures"),
    path("campaigns/<slug:name>/measures/examine", measures.ask, name="measures-ask"),
    path("campaigns/<slug:name>/measures/<slug:format>", measures.download, name="measures-file"),
    path("campaigns/<slug:name>/unjudged/", unjudged.index, name="unjudged"),
    path("campaigns/<slug:name>/unjudged/scores.csv", unjudged.as_csv, name="unjudged-csv"),
    path("campaigns/<slug:name>/unjudged/propose", unjudged.propose, name="unjudged-propose"),
    path("campaigns/<slug:name>/unjudged/<int:number>/open", unjudged.open_first, name="unjudged-open"),
    path("campaigns/<slug:name>/model-judges/", model_judges.index, name="model-judges"),
    path("campaigns/<slug:name>/model-judges/weigh", model_judges.weigh, name="predictors-weigh"),
    path("campaigns/<slug:name>/model-judges/<int:pk>/ask", model_judges.ask_for_all, name="predictor-ask"),
    path("campaigns/<slug:name>/model-judges/<int:pk>/progress", model_judges.progress, name="predictor-progress"),
    path("campaigns/<slug:name>/model-judges/<int:pk>/grades.csv", model_judges.download, name="predictor-grades"),
    path("campaigns/<slug:name>/model-judges/<int:pk>/remove", model_judges.remove, name="predictor-remove"),
    path("campaigns/<slug:name>/model-judges/<int:pk>/files", model_judges.announce_file, name="predictor-files"),
    path("campaigns/<slug:name>/model-judges/<int:pk>/files/<slug:file>", model_judges.piece, name="predictor-piece"),
    path("campaigns/<slug:name>/systems/", systems.index, name="systems"),
    path("campaigns/<slug:name>/systems/<int:number>/", systems.detail, name="system"),
    path("campaigns/<slug:name>/systems/<int:number>/remove", systems.remove_one, name="system-remove"),
    path("campaigns/<slug:name>/systems/<int:number>/curves/<slug:format>", systems.curves, name="system-curves"),
]
