"""Writing the locks of toolchain components: exact versions and hashes, resolved by pip and by Debian's package
client.
"""
