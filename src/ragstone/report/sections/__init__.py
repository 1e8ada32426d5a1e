"""The built-in sections of the report, one a file; see `ragstone.report.section`."""
