"""Opens judge, systems and run file, and runs the cases; what every capability stands on."""
