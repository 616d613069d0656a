"""a630 kernels to LLVM IR: `translate_kernel` (module `kernel`) is the entry.

operations    instructions, one for each repetition, and which registers they read and write
flow          basic blocks; predicated regions as branches
divergence    which blocks run with some of a vector's lanes only
uniformity    which registers hold the same in all lanes of a vector
observation   which registers live on, and whether their bits or their value as a float is looked at
layout        along which side of a workgroup vectors lie
known         what there is a rule for
content       what a register holds while a block is translated
files, lanes  variables of registers; reads and writes registers of one vector of threads
indirect      registers and constants that a0.x names
alu, floats, integers, moves, memory, elements, global_memory, local_memory, images, atomics
              what instructions do: tables by name
control       blocks and branches as IR
kernel        the whole function

Memory, barriers, and the loops over workgroups are those of all GPUs: `autoclave.emulator.translator`.
"""
