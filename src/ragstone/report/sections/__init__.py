"""The built-in sections of the report, one per file; see `ragstone.report.section`."""
