"""SQLite store: what runs write and screens read. One writer a run process, any number of readers."""
