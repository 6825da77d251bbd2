"""SVG icons; those drawn in `currentColor` take the colour of the text."""
