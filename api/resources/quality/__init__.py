"""What keeps judging good: examples, the exam, and quiet checks."""
