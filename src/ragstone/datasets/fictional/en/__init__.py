"""English: invented news in twelve domains, and real facts with false twins."""
