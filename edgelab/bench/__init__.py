"""Tasks, their references, and the judgement of what a candidate computes and how long it takes."""
