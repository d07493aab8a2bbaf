"""Arrays that fit no layout: their possible formats, and the options to name them."""
