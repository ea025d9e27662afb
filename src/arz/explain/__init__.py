"""What a program is, for a person.

Where its numbers go and what it remembers (`flow`, `diagram`), whether it is a linear filter (`dual`, `linear`), what
each part of it is worth (`ablation`), what it did in an episode (`traces`), and all that in words (`words`). All is
computed from the program and from episodes, and claims no more than that shows.
"""
