"""Labels of experts: rounds of labelling, agreement, edited gold data, and prompts tuned by labels."""
