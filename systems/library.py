"""What the systems need of the measuring library: `metrics` in the checkout, `reeljudge` where it is installed."""
# ruff: noqa: F401

from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__ == "systems":
    from metrics import Evaluator, MeasureError, Qrels, Run, as_qrels, as_run, parse_measure, qrels_from_dict
    from metrics.commands.main import Parser
    from metrics.formats.annotations import read_durations
    from metrics.formats.json_qrels import read_training_set
    from metrics.formats.json_reader import read_json
    from metrics.formats.json_runs import (
        PairWindows,
        pairs_as_qvhighlights,
        read_pair_windows,
        read_pairs,
        run_as_ranking,
    )
else:
    from reeljudge import Evaluator, MeasureError, Qrels, Run, as_qrels, as_run, parse_measure, qrels_from_dict
    from reeljudge.commands.main import Parser
    from reeljudge.formats.annotations import read_durations
    from reeljudge.formats.json_qrels import read_training_set
    from reeljudge.formats.json_reader import read_json
    from reeljudge.formats.json_runs import (
        PairWindows,
        pairs_as_qvhighlights,
        read_pair_windows,
        read_pairs,
        run_as_ranking,
    )
