"""The rules of the house: generated files, documents, words, imports, the wheel."""
