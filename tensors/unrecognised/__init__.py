"""Arrays that no layout names: what they may be, and how a user names them."""
