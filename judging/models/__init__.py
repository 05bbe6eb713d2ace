"""The models of judging: queries and their candidates, batches, assignments, judgements, questions and reviews."""

from judging.models.assignment import Assignment as Assignment
from judging.models.assignment import ListTime as ListTime
from judging.models.judgement import Flag as Flag
from judging.models.judgement import Judgement as Judgement
from judging.models.judgement import KeptAnswer as KeptAnswer
from judging.models.judgement import Question as Question
from judging.models.judgement import Revision as Revision
from judging.models.pool import Batch as Batch
from judging.models.pool import Candidate as Candidate
from judging.models.pool import Query as Query
from judging.models.review import Action as Action
from judging.models.review import ActionRow as ActionRow
from judging.models.review import Adjudication as Adjudication
from judging.models.review import Example as Example
from judging.models.review import Reopening as Reopening
from judging.models.review import ReusedGrade as ReusedGrade
from judging.models.review import Review as Review
from judging.models.sitting import Practice as Practice
from judging.models.sitting import Sitting as Sitting
from judging.models.states import Kind as Kind
