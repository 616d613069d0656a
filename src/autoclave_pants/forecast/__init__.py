"""A second form of the backend, which tells the keys of actions and runs none: `autoclave_pants.forecast`.

It has the rules of `autoclave_pants` but for three kinds, which are predictions here: what an action writes, what is fetched, and
what a toolchain consists of. `./pants affected` loads it in the checkouts that it compares.
"""
