"""a630 kernels to LLVM IR: `translate_kernel` (module `kernel`) is the entry.

operations    instructions, one for each repetition, and which registers they read and write
flow          basic blocks; predicated regions as branches
divergence    which blocks run with some of a vector's lanes only
uniformity    which registers hold the same in all lanes of a vector
observation   which registers live on, and whether their bits or their value as a float is looked at
content       what a register holds while a block is translated
lanes         reads and writes registers of one vector of threads
alu, moves, memory, images, atomics
              what instructions do: tables by name
control       blocks, branches and barriers as IR
frame         the memory that host code and its caller share
kernel        the whole function
"""
