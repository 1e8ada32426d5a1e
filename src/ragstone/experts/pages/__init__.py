"""The viewer's pages where experts label answers, settle disputes and edit gold data."""
