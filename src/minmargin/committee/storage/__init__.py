"""Committees on disk, without pickle: a folder of arrays and tensors, and a JSON file that says what they are.

`saving` turns a committee into files, `loading` turns files into a committee. Between them and the disk stand `folders`
(written whole or not at all) and `saved` (read only what has the recorded size and checksum).
"""
