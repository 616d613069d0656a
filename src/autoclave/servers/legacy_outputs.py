import os
import sys


def main() -> None:
    programs = sys.argv[1].partition("=")[2]
    real = os.path.join(programs, "buildbox-run-hosttools")
    os.execv(real, [real, *sys.argv[2:]])


if __name__ == "__main__":
    main()
