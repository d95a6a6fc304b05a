"""python -m ddpsim: the commands of the program, and also `estimate`. That one needs PyTorch, so the program lacks it.

python -m ddpsim estimate train.py:build --gpu H100 -o workload.json
python -m ddpsim simulate workload.json dgxh100
"""

from __future__ import annotations

import sys


def main() -> int:
    from ._errors import Error

    try:
        if sys.argv[1:2] == ["estimate"]:
            from ._estimate_command import run_command

            return run_command(sys.argv[2:])
        import subprocess

        from ._program import program

        return subprocess.run([program(), *sys.argv[1:]], check=False).returncode
    except Error as error:
        print(f"ddpsim: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
