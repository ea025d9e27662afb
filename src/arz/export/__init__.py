"""From a program to code that runs without arz: a Python module that needs NumPy only, or one C99 header.

Both are computed from the op table's formulas, for the readable form of the program, and carry test vectors and a check
of themselves. Their actions equal the interpreter's bit for bit.
"""
