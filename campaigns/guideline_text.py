"""The built-in guideline and the meaning of the five grades. A campaign starts with it and can write its own."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

LEVELS = {
    0: (_("unrelated"), _("Nothing that the query says happens here. A person alone does not count.")),
    1: (_("few points"), _("A person or a thing of the query is there, but the main action is another one.")),
    2: (_("partly"), _("Only part of the query happens, or much of it is cut off, hidden or filled up.")),
    3: (_("all but a detail"), _("The action is right; one small point differs, or something extra is in it.")),
    4: (_("perfect"), _("Exactly what the query says, in plain sight, from its beginning to its end and no longer.")),
}

GUIDELINE = gettext_noop("""\
You see one **query**, a sentence about something that happens, and one **clip**. Your grade says how well the
clip shows what the query describes. Judge only what you see in the clip, never what may have come before or after it.

## Three questions

1. **Does the action match?** Look for what is *done* first, then for who does it, to what, and where.
2. **Is all of it in the picture?** The action should happen in plain sight: not behind a door, at the very edge
   of the frame, or too small to make out.
3. **Is all of it in the clip, and little else?** The action should begin and end inside the clip, and fill most
   of it. Both count against a clip: an action that is broken off, and long stretches of other things around it.

The first question decides most. The other two take a grade or two away.

## Five grades

Take the query *“A woman opens a drawer and takes out a letter.”*

- **4, perfect.** Both actions happen, whole and in plain sight, and hardly anything else does. If two women do it
  together, that is still what the query says.
- **3, all but a detail.** Both happen, but one small point is different: a man does it, it is a cupboard, or the
  clip goes on for a while after.
- **2, partly.** A good part is missing: she opens the drawer and the clip ends, a letter is taken out of a bag,
  or most of it is hidden behind somebody's back.
- **1, few points.** Something of the query is there, but what happens is another thing: a woman closes a drawer, or
  a letter lies on a table and nobody touches it.
- **0, unrelated.** Nothing of it happens. That there is *a person* is no point in common: nearly every clip has one.

## Harder cases

- **Several people.** One of them doing what the query says is enough. If the query names two people and what one does
  to the other, the roles count: giving is not getting.
- **Cut off.** Grade what you see. Half an action is at most a 2, however clear it is how it would go on.
- **Nearly the same action.** Running for walking, or a sofa for a chair, is a detail (3). Picking a cup up where the
  query says drinking is another action (1, or 2 if it is a part of the way there).
- **Two actions in the query.** If only one is there: 2. In the wrong order: 3.
- **Details of clothes and colours** count only if the query names them.
- **Nothing happens.** People who stand or sit about share nothing with a query about an action: 0.
- **You know the series or the film.** Forget it. Only this clip counts.

## When you are not sure

Watch it once more, at half speed if that helps. If you hesitate between two grades, take the one whose words fit
better; if both fit, the lower one. Two people may differ by one, so do not agonise. Do not try to guess what
others said, and do not spread your grades evenly: some batches are all 0, and that is fine.

## When to flag

Flag a clip instead of grading it when it cannot be judged: it does not play, it is black, or the query makes no
sense. A clip that is merely hard to grade is no reason for a flag.
""")
