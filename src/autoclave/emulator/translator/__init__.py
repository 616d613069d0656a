"""What kernels of every GPU have in common as LLVM IR. The packages of the GPUs build on it: `a630.translator`, `rdna4.translator`.

lane_context  what is common of the two of them: a vector of lanes, one for each thread
frame         the memory that host code and its caller share
geometry      how threads lie in vectors
coordinates   what threads find in their registers at first
faults        ways out of a kernel that does what it must not
elements, global_memory, local_memory, atomics
              loads and stores of each lane, all checked
barriers      vectors that wait for one another
workgroups    the loops over workgroups and their vectors
kernel        the whole function, and what is said of it
"""
