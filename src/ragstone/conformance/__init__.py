"""Another library's metrics, put to cases with recorded verdicts and known right scores."""
