"""`ragstone view`: runs in a browser, case by case."""
