"""What the window shows, as Qt models without widgets. Fed by the controller; alive in the window's thread."""
