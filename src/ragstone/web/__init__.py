"""The viewer: runs of a folder in a browser, rendered by the report's own code. Needs the extra `view`.

`app.create_app` makes the application, `server.serve` runs it; each module of `pages` has `ROUTES`.
"""
