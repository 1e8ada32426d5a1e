"""What the comparison with other tools needs: their environments, the data, the server, a script for each."""
