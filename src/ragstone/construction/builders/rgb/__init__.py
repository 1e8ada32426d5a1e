"""RGB's data sets from news (Chen et al. 2024, section 3): questions about events, pages that a search finds for them,
chunks that state the answer or do not, joined questions, and answers that were replaced."""
