"""Charts of a report as inline SVG. Colours are classes of the page's style sheet, so they follow its theme."""
