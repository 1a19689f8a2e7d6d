"""The unified kernel IR: program text, its guard, the PyTorch importer, lowering and the backend adapters."""
