"""The pages of the viewer: each module has `ROUTES`, a tuple of Starlette routes; see `ragstone.web.page`."""
