print("goodbye")
raise SystemExit(5)
