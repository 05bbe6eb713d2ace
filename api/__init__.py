"""The API: the same doors and verbs as the pages, over REST; and webhooks, which tell other sites what happened."""
