"""Systems that rank the moments of a collection for a query: what they see, how they are trained, indexed and searched.

Nothing here uses Django or a database, and no module that a web process may import imports torch or faiss. The
modules of the systems themselves do; only `interface.system` loads them, by name.
"""
