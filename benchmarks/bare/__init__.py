"""A bare Django view that stores one row in a transaction: what a save is measured beside."""

TABLE = "CREATE TABLE bare (position integer NOT NULL, grade integer NOT NULL, key varchar(36) NOT NULL UNIQUE)"
