"""The stamp that a bridge writes into the old key, and how it judges the stamps of others.

Both come from the two tables in `data`, which are generated from lockshift's catalogue of dialects."""

import importlib.resources
import math
import os
import re
import struct

_FAR_MS = 200 * 366 * 86_400_000  # twice the longest lease
_EARLIEST_MS = 1_230_768_000_000  # 2009: no lock is older than Redis
_LATEST_MS = 101 * 366 * 86_400_000  # no stamp is further ahead than the longest lease, a century, and a wrong clock


class NotBridgeable(ValueError):
    """No stamp keeps this fleet out, or its dialects do not exclude each other."""


def new_key(key):
    """The key beside `key`, in the same slot of a cluster, that the clients of the token lock use: `{invoices}:token`."""
    if isinstance(key, bytes):
        return new_key(key.decode("latin-1")).encode("latin-1")
    # A hash tag stands between the first brace and the first that closes it: `{}:{42}` has none.
    if re.match(r"[^{]*\{[^}]+\}", key):
        return key + ":token"
    if not key or "}" in key:
        raise ValueError(f"cannot derive the new key of {key!r}: it is empty or has a brace without a hash tag")
    return "{" + key + "}:token"


def data(name):
    """A file that lies beside this package's code."""
    return importlib.resources.files(__package__).joinpath("data", name).read_text(encoding="utf-8")


def _rows(name):
    return [line.split("\t") for line in data(name).splitlines() if line and not line.startswith("#")]


class _Shape:
    """How a number becomes a value, and back."""

    def __init__(self, template, unit_ms, origin, pattern):
        self.template, self.unit_ms, self.origin = template, float(unit_ms), int(origin)
        self.pattern = re.compile(pattern.encode(), re.DOTALL) if pattern != "-" else None

    def write(self, moment_ms, token):
        """The first stamp of this shape that is later than this moment by a unit."""
        number = math.ceil(moment_ms / self.unit_ms) + 1 + self.origin
        fields = {
            "{n}": str(number).encode(),
            "{be8}": struct.pack(">q", number) if "{be8}" in self.template else b"",
            "{le8}": struct.pack("<q", number) if "{le8}" in self.template else b"",
            "{pid}": str(os.getpid()).encode(),
            "{thread}": b"1",
            "{hex}": token.encode(),
            "{uuid}": "-".join((token[:8], token[8:12], token[12:16], token[16:20], token[20:])).encode(),
        }
        parts = re.split(r"(\{\w+\})", self.template)
        return b"".join(fields.get(part, part.encode()) for part in parts)

    def read(self, value):
        """The moment in a value, in milliseconds since 1970; `None` if it has another shape."""
        match = self.pattern and self.pattern.fullmatch(value)
        if not match:
            return None
        digits = match.group(1)
        if "{be8}" in self.template or "{le8}" in self.template:
            number = struct.unpack(">q" if "{be8}" in self.template else "<q", digits)[0]
        else:
            number = float(digits)  # infinite if it is too long, which is no moment
        return (number - self.origin) * self.unit_ms


class Fleet:
    """The old clients that share a key."""

    def __init__(self, names):
        shapes = {row[0]: _Shape(*row[1:]) for row in _rows("shapes.tsv")}
        table = {row[0]: row[1:] for row in _rows("dialects.tsv")}
        if not names:
            raise NotBridgeable("a bridge needs the dialects of the old clients")
        if isinstance(names, (str, bytes)):
            raise TypeError(f"the dialects {names!r} are not a list: pass a list of names, as in ['php-getset']")
        names = list(names)
        unknown = [name for name in names if name not in table]
        if unknown:
            raise NotBridgeable(f"no bridge is known for {', '.join(unknown)}")
        rows = [table[name] for name in names]
        # Columns: the shape that it writes, the shape of its bridge's stamp, grace in ms, allowance, the shapes it respects.
        respected = [set(row[4].split(",")) for row in rows]
        for name, row in zip(names, rows):
            for other, leaves in zip(names, respected):
                if name != other and row[0] not in leaves:
                    raise NotBridgeable(f"{other} takes over the locks of {name} while they are held")
        stamp = next((row[1] for row in rows if all(row[1] in leaves for leaves in respected)), None)
        if stamp is None:
            raise NotBridgeable(f"no stamp keeps out all of {', '.join(names)}")
        self._stamp, self._far = shapes[stamp], stamp.endswith("-far")
        self._readers = [(shapes[row[0]], float(row[2]), row[3] == "lease") for row in rows if row[3] != "never"]

    def stamp(self, token, lease_ms, now_ms):
        """The value that keeps the fleet out for this lease."""
        return self._stamp.write(now_ms + lease_ms + (_FAR_MS if self._far else 0), token)

    def is_expired(self, value, lease_ms, now_ms):
        """Whether a value of the old key is an expired lock. A value that no dialect of the fleet writes is live."""
        ends = []
        for shape, grace_ms, adds_lease in self._readers:
            moment = shape.read(value)
            if moment is not None and _EARLIEST_MS <= moment <= now_ms + _LATEST_MS:
                # A unit later than the stamp, or a millisecond: a bridge is never earlier than an old client.
                ends.append(moment + max(shape.unit_ms, 1) + grace_ms + (lease_ms if adds_lease else 0))
        return bool(ends) and max(ends) < now_ms
