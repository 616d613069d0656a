"""The Remote Execution API v2 (REAPI) as far as a check of a server needs it: a small typed client, and the cache doctor.

`python -m autoclave.reapi` is the doctor; `./pants cache-doctor` runs it with Pants' own options. The only part of the
library that needs grpcio.
"""
