"""The commands of the command line, one file a group; imported only when they are called."""
