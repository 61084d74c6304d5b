"""`make soak`: many runs, a third of them hostile, and a look at what they leave and what the controller keeps."""
