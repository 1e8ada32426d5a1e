"""Two runs compared sample by sample, and runs followed over time."""
