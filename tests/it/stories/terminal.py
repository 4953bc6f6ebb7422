"""Runs a command on a terminal of 100 by 200 characters, types what it is given, and prints what was on the screen."""

import fcntl, json, os, pty, select, struct, sys, termios, time

import pyte

wanted = json.loads(sys.argv[1])
screen = pyte.Screen(100, 200)
stream = pyte.ByteStream(screen)
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 100, 0, 0))
    os.execv(wanted["command"][0], wanted["command"])

seen, types = "", list(wanted["types"])
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    ready, _, _ = select.select([terminal], [], [], 0.1)
    try:
        data = os.read(terminal, 65536) if ready else b""
    except OSError:  # The other side of the terminal is closed.
        break
    if ready and not data:
        break
    stream.feed(data)
    # A screen that is drawn again still has to be recognised, so every one counts.
    seen = "\n".join(screen.display)
    if types and types[0][0] in seen:
        os.write(terminal, types.pop(0)[1].encode())
else:
    os.kill(child, 9)

_, status = os.waitpid(child, 0)
lines = [line.rstrip() for line in screen.display]
while lines and not lines[-1]:
    lines.pop()
print(json.dumps({"status": os.waitstatus_to_exitcode(status), "untyped": types, "lines": lines}))
