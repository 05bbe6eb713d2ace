"""The substituter that asks a chat endpoint: several descriptions in a request, answered as strict JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from base.text import abbreviated, storable
from corpus.importers.rows import LONGEST_TEXT
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from retrieval.rewriting.endpoint import Endpoint, EndpointRefuses, Unusable
from retrieval.rewriting.substituters import Beat, Proposal, differences

PROMPT_VERSION = 1
TEMPERATURES = (0.0, 0.2)  # of the first and of the second attempt, as in TVR-Ranking, appendix A
UNUSABLE_IN_A_ROW = 20  # answers about one description each; then the endpoint is of no use
PROMPT = """\
You edit short descriptions of moments in films so that they can be understood by a reader who knows none of the people.
Each input has a number and a description. Rewrite each description by these rules:
1. Replace every name of a person by a common noun or a pronoun that fits: a man, a woman, a doctor, someone, they.
   Guess from the name and the sentence whether the person is a man or a woman; if you cannot tell, write "a person".
   Titles that stand before a name go with it.
2. If several people do something together, say so: two men, two people, a man and a woman.
3. Refer to the same person in the same way, and let the reader tell different people apart: the man, another man.
4. Change nothing else. Keep the actions, things, colours, places and the tense. Add nothing and explain nothing.
Answer with one JSON object and nothing around it: {"captions": [{"number": 1, "caption": "..."}, ...]}.
It has exactly one entry for each input, with the input's number."""


class ChatSubstituter:
    """Asks a model for captions. An answer that is of no use is asked for again, about half as many descriptions."""

    attempts = len(TEMPERATURES)
    at_a_time = 10

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.made_by = f"{endpoint.model}, prompt {PROMPT_VERSION}"
        self.unusable = 0  # answers about one description, in a row

    def propose(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        """Yield the proposals of each answer.

        Raises
        ------
        EndpointAway, EndpointRefuses
            As `Endpoint.ask`; also if one answer after the other is of no use.
        """
        try:
            reply = self.endpoint.ask(messages(descriptions), TEMPERATURES[attempt - 1], beat)
            captions = _captions(reply, len(descriptions))
        except Unusable as fault:
            if len(descriptions) == 1:
                yield [self._none(str(fault))]
            else:
                yield from self._in_halves(descriptions, attempt, beat)
            return
        self.unusable = 0
        yield [_proposal(before, after) for before, after in zip(descriptions, captions, strict=True)]

    def _in_halves(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        middle = len(descriptions) // 2
        for half in (descriptions[:middle], descriptions[middle:]):
            self.endpoint.usage.retries += 1
            yield from self.propose(half, attempt, beat)

    def _none(self, why: str) -> Proposal:
        """Return that there is no proposal for one description, unless no answer has been of use for long."""
        self.unusable += 1
        if self.unusable >= UNUSABLE_IN_A_ROW:
            raise EndpointRefuses(
                f"CHAT_URL {self.endpoint.host}: {self.unusable} answers in a row are of no use; the last: {why}"
            )
        return Proposal("", [], f"The endpoint's answer is of no use: {why}.")


def messages(descriptions: Sequence[str]) -> list[dict[str, str]]:
    """Return the messages that ask for the captions of these descriptions."""
    numbered = [{"number": number, "description": text} for number, text in enumerate(descriptions, 1)]
    request = json.dumps(numbered, ensure_ascii=False)
    return [{"role": "system", "content": PROMPT}, {"role": "user", "content": request}]


def _captions(reply: str, expected: int) -> list[object]:
    """Return the captions of an answer in the order of the descriptions.

    Raises
    ------
    Unusable
        If it is not JSON as asked for, or holds more, fewer or other numbers than the request.
    """
    fenced = re.fullmatch(r"\s*```(?:json)?\s*(.*?)\s*```\s*", reply, re.S)
    try:
        answer = read_json(fenced[1] if fenced else reply)
    except MeasureError as fault:
        raise Unusable(f"not JSON: {abbreviated(reply)}") from fault
    entries = answer.get("captions") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unusable(f"not the JSON that was asked for: {abbreviated(answer)}")
    by_number: dict[Any, object] = {str(entry.get("number")): entry.get("caption") for entry in entries}
    wanted = [str(number) for number in range(1, expected + 1)]
    if len(entries) != expected or set(by_number) != set(wanted):
        raise Unusable(f"{len(entries)} captions for {expected} descriptions, or wrong numbers")
    return [by_number[number] for number in wanted]


def _proposal(before: str, after: object) -> Proposal:
    if not isinstance(after, str) or not after.strip() or not storable(after):
        return Proposal("", [], f"The endpoint's caption is {abbreviated(after)}; expected a text.")
    after = " ".join(after.split())
    if len(after) > 2 * len(before) + 60 or len(after.encode()) > LONGEST_TEXT:
        return Proposal("", [], f"The endpoint's caption is too long: {len(after):,} characters for {len(before):,}.")
    return Proposal(after, differences(before, after))
