"""A campaign's settings: what each is called, what it does, and which values it may have."""

from __future__ import annotations

from typing import NamedTuple

from campaigns.models.campaign import MOST_BEYOND, MOST_HIDDEN, MOST_PLAYS


class Setting(NamedTuple):
    """The words of a setting for pages and for the API, and its range if it has one."""

    label: str
    help: str
    least: float | None = None
    most: float | None = None

    @property
    def has_range(self) -> bool:
        return self.most is not None


GRADE = (0, 4)  # the range of a mean grade
MOST_JUDGEMENTS = 10_000_000  # that a limit may name
# Of an annotator: the columns of a membership.
LIMITS = {
    "most_in_all": Setting("In all", "Judgements, at most. Empty for no limit.", 1, MOST_JUDGEMENTS),
    "most_a_day": Setting("A day", "Judgements on a day, at most. Empty for no limit.", 1, MOST_JUDGEMENTS),
    "most_a_week": Setting("A week", "Judgements in a week, at most. Empty for no limit.", 1, MOST_JUDGEMENTS),
}
SECTIONS = {
    "The campaign": {"title": Setting("Title", "People see it instead of the short name.")},
    "Clips": {
        "padding": Setting(
            "Seconds around a moment",
            "Time shown before and after each moment, 0 to 60. Annotators then see more than they grade.",
            0,
            60,
        ),
        "sound": Setting("Clips have sound", "Annotators hear the clips where the videos have sound."),
        "play_once": Setting(
            "A clip must play to its end before it is graded",
            "The keys 0-4 do nothing until the clip has played to its end.",
        ),
        "watch_first": Setting(
            "Seconds that a clip must move before it is graded",
            "0 to 10. A key that comes sooner grades nothing, so that a double press grades no clip unseen.",
            0,
            10,
        ),
    },
    "Batches and agreement": {
        "batch_size": Setting("Candidates in a batch", "20 in the published method.", 1, 100),
        "batches": Setting(
            "Batches of a query, at most",
            "2 in the published method: ranks 1-20, then 21-40 where there is more to find.",
            1,
            2,
        ),
        "tolerance": Setting(
            "Grades agree when they differ by at most",
            "1 in the published method. A candidate whose grades differ by more goes to two other annotators.",
            0,
            3,
        ),
        "order_seed": Setting(
            "Seed of the order of clips",
            "The order of clips and the draw of checks follow from this number. Annotators must not know it.",
        ),
    },
    "When a query has had enough": {
        "second_from": Setting(
            "Recommend a second batch from a mean of",
            "Mean grade of a batch's last five, 0 to 4. From here on the batch page recommends another.",
            *GRADE,
        ),
        "auto_second_from": Setting(
            "Open the second batch automatically from a mean of",
            "Applies without you to batches that settle from now on. Empty: you decide.",
            *GRADE,
        ),
        "auto_close_below": Setting(
            "Close the query automatically below a mean of",
            "Applies without you to batches that settle from now on. Empty: you decide.",
            *GRADE,
        ),
    },
    "Who may judge": {
        "exam": Setting(
            "Annotators must pass the exam before they get work",
            "New annotators take the exam first. You may let anybody work without it.",
        ),
        "exam_rounds": Setting(
            "Rounds of the exam", "Rounds in which missed pairs come back before the exam is failed, 1 to 10.", 1, 10
        ),
        "may_return": Setting(
            "Who began a batch may judge its contested clips if nobody else is left",
            "They know then that others disagreed. Their grades are asked again. Otherwise the batch waits.",
        ),
        "week_quota": Setting(
            "Judgements of all annotators in a week, at most",
            "Empty for no limit. Weeks begin on Monday. A batch is handed out while a whole one fits.",
            1,
            MOST_JUDGEMENTS,
        ),
    },
    "Quiet checks": {
        "hidden_places": Setting(
            "Hidden places in each batch",
            f"0 for no checks, up to {MOST_HIDDEN}. Every batch, also of round two, is then filled to one size.",
            0,
            MOST_HIDDEN,
        ),
        "mixes_queries": Setting(
            "Contested clips of several queries make one batch",
            "The query then changes within the batch. Otherwise hidden places fill it with clips of its own query.",
        ),
        "check_warn": Setting(
            "Warn from a share of missed checks of",
            "Between 0 and 1. An annotator who misses this share of the checks gets a message.",
            0,
            1,
        ),
        "check_pause": Setting(
            "Pause from a share of missed checks of",
            "Between 0 and 1, at least the warning's share. Work then stops until you decide.",
            0,
            1,
        ),
    },
    "Runs": {
        "runs_a_day": Setting(
            "Runs of a researcher on a day, at most",
            "Empty for no limit. Runs with faults do not count. Leads have no limit.",
            1,
            1000,
        ),
        "held_back_runs": Setting(
            "Runs of a person on the held-back split, at most",
            "Each person chooses which of their runs are scored there. More runs reveal more about its grades.",
            1,
            100,
        ),
        "public_board": Setting(
            "Everybody may see the leaderboard of listed runs",
            "Runs appear there only if their owners chose it. It names no query.",
        ),
    },
    "Pay": {
        "hourly_rate": Setting(
            "Pay for an hour", "Annotators see what they have earned. A new rate holds from today on.", 0, 999_999
        ),
        "currency": Setting("Currency", "Three letters of ISO 4217, like SGD, EUR or INR."),
        "all_days": Setting(
            "Pay the days before today at this rate, too",
            "Use this to correct a wrong rate: earnings that are not approved yet are counted again.",
        ),
        "paid_plays": Setting(
            "Plays of a clip that one press may count",
            f"1 to {MOST_PLAYS}. One press counts no more seconds than these plays take, and those below.",
            1,
            MOST_PLAYS,
        ),
        "paid_beyond": Setting(
            "Seconds beyond these plays",
            f"0 to {MOST_BEYOND}. The rest of what a browser reports is cut. A change holds for later claims.",
            0,
            MOST_BEYOND,
        ),
    },
}
SETTINGS = {name: setting for section in SECTIONS.values() for name, setting in section.items()}
COLUMNS = SETTINGS.keys() - {"all_days"}  # of the campaign
