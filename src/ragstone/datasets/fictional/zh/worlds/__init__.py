"""The events of the Chinese news world, one function to draw a series and one to draw an edition of each kind."""
