"""What pictures of all kinds share: looks, names, and how films are written."""
