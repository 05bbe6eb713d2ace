"""Systems that are trained here: asked for on a page or by a command, trained by jobs, and submitted as runs."""
