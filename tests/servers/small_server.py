"""A small server process: answers with its own process id, and has a child. Run as `python small_server.py PORT FILE`.

It writes its child's process id to FILE, prints what it does, and takes its time to end when the file FILE.slow is there.
"""

import os
import signal
import socket
import subprocess
import sys
import time


def main(port: int, file: str) -> None:
    # Fails, as a server does, when its port is taken.
    listener = socket.create_server(("127.0.0.1", port))
    child = subprocess.Popen(["sleep", "600"], process_group=0)
    with open(file, "w") as out:
        out.write(str(child.pid))
    signal.signal(signal.SIGTERM, lambda *_: end(child, file))
    print(f"serving as {os.getpid()}", flush=True)
    while True:
        connection, _ = listener.accept()
        connection.sendall(str(os.getpid()).encode())
        connection.close()


def end(child: "subprocess.Popen[bytes]", file: str) -> None:
    if os.path.exists(f"{file}.slow"):
        time.sleep(600)
    child.kill()
    print("ended in good order", flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
