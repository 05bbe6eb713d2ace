"""What the five grades mean. A campaign starts with this and may write its own."""

GRADES = {
    0: ("unrelated", "Nothing that the query says happens here. A person alone does not count."),
    1: ("few points", "A person or a thing of the query is there, but the main action is another one."),
    2: ("partly", "Only part of the query happens, or much of it is cut off, hidden or padded out."),
    3: ("all but a detail", "The action is right; one small point differs, or something extra is in it."),
    4: (
        "perfect",
        "Exactly what the query says, in plain sight, from its beginning to its end and no longer.",
    ),
}

GUIDELINE = (
    "Judge only what you see in the clip, never what may have come before or after it.\n\n"
    "Ask three things. Does the action match the words? Is the whole action inside the picture? "
    "Is all of it inside the clip, with little else around it? Then press the grade that fits best."
)
