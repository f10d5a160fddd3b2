"""Lets adaptertest measure a store in Python, with nothing but the standard library.

adaptertest/remote/PROTOCOL.md describes the lines on standard input and output. Copy this file, and write a
class with the methods of the contract, as dict_store.py and sqlite_store.py do:

    go run ./cmd/adaptertest -- python3 ../interop/python/dict_store.py

Each call runs on its own thread.
"""

import json
import re
import sys
import threading
from datetime import datetime, timedelta, timezone


class Conflict(Exception):
    """A unique value is taken."""

    kind = "conflict"


class NotFound(Exception):
    """The record of an update, or the owner of a new record, is absent."""

    kind = "notFound"


# The methods of the contract that a class may have, in the names of Auth.js.
METHODS = """createUser getUser getUserByEmail getUserByAccount updateUser deleteUser linkAccount unlinkAccount getAccount
createSession getSessionAndUser updateSession deleteSession createVerificationToken useVerificationToken createAuthenticator
getAuthenticator listAuthenticatorsByUserId updateAuthenticatorCounter deleteExpired listSessionsByUserId
deleteSessionsByUserId listAccountsByUserId updateAccount deleteVerificationTokens createUserWithPassword getPassword
setPassword swapPassword deletePassword""".split()


def serve(hello, open_store, drop=None):
    """Serve answers requests until the input ends.

    hello is what the program says of itself, open_store(request) returns an object with methods of METHODS and
    perhaps close(), and drop(store) deletes a store.
    """
    handles, lock, threads = {}, threading.Lock(), []
    features = hello.get("features", []) + (["drop"] if drop else [])

    def control(call, handle, args):
        if call == "hello":
            return {"protocol": 1, **hello, "features": features}
        if call == "open":
            store = open_store(args[0])
            with lock:
                number = len(handles) + 1
                handles[number] = store
            return {"handle": number, "methods": [m for m in METHODS if hasattr(store, m)]}
        if call == "close" and hasattr(handles[handle], "close"):
            handles[handle].close()
        if call == "drop":
            drop(args[0])
        return None

    def answer(request):
        call, handle, args = request["call"], request.get("handle"), request["args"]
        try:
            if call in ("hello", "ping", "open", "close", "drop"):
                said = {"result": control(call, handle, args)}
            elif holds_bytes(args):
                said = bytes_refused(call)
            else:
                said = {"result": getattr(handles[handle], call)(*map(in_utc, args))}
        except Exception as error:  # whatever the store raises is its answer
            said = {"error": {"kind": getattr(error, "kind", ""), "message": str(error), "cause": {"type": type(error).__name__}}}
        line = EXACT.sub(r"\1", json.dumps({"id": request["id"], **said})) + "\n"
        with lock:
            sys.stdout.write(line)
            sys.stdout.flush()

    for line in sys.stdin:
        request = json.loads(line, parse_float="\ue000{}\ue000".format)
        if request["call"] == "cancel":
            continue
        thread = threading.Thread(target=answer, args=(request,), daemon=True)
        thread.start()
        threads = [t for t in threads if t.is_alive()] + [thread]
    for thread in threads:
        thread.join(timeout=2)


def holds_bytes(value):
    """Report whether a text is not Unicode: it comes as {"base64": "…"}."""
    if isinstance(value, dict):
        return isinstance(value.get("base64"), str) or any(map(holds_bytes, value.values()))
    return isinstance(value, list) and any(map(holds_bytes, value))


def bytes_refused(call):
    """A lookup finds nothing, because no record has such a key. A write fails."""
    if call.startswith(("get", "use", "delete", "unlink")):
        return {"result": None}
    if call.startswith("list"):
        return {"result": []}
    return {"error": {"message": "a text is not valid UTF-8"}}


# A number with a fraction is kept as its digits between two marks: a float would lose some.
EXACT = re.compile(r'"\\ue000([-+.0-9eE]+)\\ue000"')

INSTANTS = ("expires", "emailVerified", "created", "lastUsed")


def in_utc(record):
    """Write the instants of a record in UTC."""
    if not isinstance(record, dict):
        return record
    return {k: instant(nanoseconds(v)) if k in INSTANTS and v is not None else v for k, v in record.items()}


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FORM = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d)")


def nanoseconds(text):
    """Return the nanoseconds since 1970 of an instant."""
    parts = FORM.fullmatch(text)
    if not parts:
        raise ValueError("not an instant with a year of four digits")
    whole, fraction, zone = parts.groups()
    since = datetime.fromisoformat(whole + zone.replace("Z", "+00:00")) - EPOCH
    return (since.days * 86400 + since.seconds) * 10**9 + int((fraction or "").ljust(9, "0"))


def instant(nanos):
    """Return the text of an instant."""
    seconds, rest = divmod(nanos, 10**9)
    return f"{(EPOCH + timedelta(seconds=seconds)).isoformat()[:19]}.{rest:09d}Z"
