"""Files the program ships with: icons, and the sample network."""
