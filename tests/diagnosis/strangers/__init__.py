"""Applications whose author had not read the code of ragstone, with faults to plant and the causes expected before."""
