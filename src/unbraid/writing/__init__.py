"""How the parts of a declaration are written: one module per kind of part."""
