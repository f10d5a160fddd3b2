"""A store of users, accounts, sessions and tokens in SQLite. Each store is a file."""

import json
import os
import sqlite3
import tempfile
import threading
import uuid

from measure import Conflict, NotFound, instant, nanoseconds, serve

# The tables: the columns of each, those of the key first. Instants are texts in UTC of one
# length, whose order is that of time.
USER = ["id", "name", "email", "emailVerified", "image"]
ACCOUNT = ["provider", "providerAccountId", "userId", "type", "access_token", "refresh_token", "id_token", "scope",
           "token_type", "session_state", "expires_at", "authorization_details"]  # fmt: skip
SESSION = ["sessionToken", "userId", "expires"]
TOKEN = ["identifier", "token", "expires"]
AUTHENTICATOR = ["credentialID", "userId", "providerAccountId", "credentialPublicKey", "counter", "credentialBackedUp",
                 "credentialDeviceType", "transports", "name", "created", "lastUsed"]  # fmt: skip
OWNER = "userId TEXT NOT NULL REFERENCES user ON DELETE CASCADE"
TABLES = f"""
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS user (id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, emailVerified TEXT, image TEXT);
CREATE TABLE IF NOT EXISTS account (provider TEXT CHECK (provider <> ''), providerAccountId TEXT CHECK (providerAccountId <> ''),
  {OWNER}, type TEXT, access_token TEXT, refresh_token TEXT, id_token TEXT, scope TEXT, token_type TEXT, session_state TEXT,
  expires_at INTEGER, authorization_details TEXT, PRIMARY KEY (provider, providerAccountId));
CREATE INDEX IF NOT EXISTS account_user ON account (userId);
CREATE TABLE IF NOT EXISTS session (sessionToken TEXT PRIMARY KEY CHECK (sessionToken <> ''), {OWNER}, expires TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS session_user ON session (userId);
CREATE TABLE IF NOT EXISTS token (identifier TEXT CHECK (identifier <> ''), token TEXT CHECK (token <> ''), expires TEXT NOT NULL,
  PRIMARY KEY (identifier, token));
CREATE TABLE IF NOT EXISTS authenticator (credentialID TEXT PRIMARY KEY CHECK (credentialID <> ''), {OWNER}, providerAccountId TEXT,
  credentialPublicKey TEXT, counter INTEGER, credentialBackedUp INTEGER, credentialDeviceType TEXT, transports TEXT, name TEXT,
  created TEXT, lastUsed TEXT);
CREATE INDEX IF NOT EXISTS authenticator_user ON authenticator (userId);
"""


def to_row(column, value):
    return json.dumps(value) if value is not None and column == "authorization_details" else value


def from_row(column, value):
    if value is not None and column == "authorization_details":
        return json.loads(value)
    return bool(value) if column == "credentialBackedUp" else value


class SQLiteStore:
    """One connection with a lock. Every method is one statement, or a transaction."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
        self.db.executescript(TABLES)
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA synchronous = NORMAL")

    def close(self):
        with self.lock:
            self.db.close()

    def rows(self, columns, statement, *values):
        """Run a statement and return its rows as records."""
        with self.lock:
            try:
                rows = self.db.execute(statement, values).fetchall()
            except sqlite3.IntegrityError as error:
                raise (NotFound if "FOREIGN KEY" in str(error) else Conflict)(str(error)) from error
        return [{c: from_row(c, v) for c, v in zip(columns, row)} for row in rows]

    def one(self, columns, statement, *values):
        return next(iter(self.rows(columns, statement, *values)), None)

    def insert(self, table, columns, record):
        places = ", ".join("?" * len(columns))
        values = [to_row(c, record.get(c)) for c in columns]
        return self.one(columns, f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}) RETURNING {', '.join(columns)}", *values)

    def select(self, table, columns, condition, *values):
        return self.rows(columns, f"SELECT {', '.join(columns)} FROM {table} WHERE {condition}", *values)

    def update(self, table, columns, record, key):
        changes = [c for c in columns if c in record]
        sets = ", ".join(f"{c} = ?" for c in changes)
        values = [to_row(c, record[c]) for c in changes]
        return self.one(columns, f"UPDATE {table} SET {sets} WHERE {key} = ? RETURNING {', '.join(columns)}", *values, record[key])

    def delete(self, table, columns, condition, *values):
        return self.one(columns, f"DELETE FROM {table} WHERE {condition} RETURNING {', '.join(columns)}", *values)

    def createUser(self, user):
        return self.insert("user", USER, {"id": str(uuid.uuid4()), **user})

    def getUser(self, id):
        return next(iter(self.select("user", USER, "id = ?", id)), None)

    def getUserByEmail(self, email):
        return next(iter(self.select("user", USER, "email = ?", email)), None)

    def getUserByAccount(self, key):
        condition = "id = (SELECT userId FROM account WHERE provider = ? AND providerAccountId = ?)"
        return next(iter(self.select("user", USER, condition, key["provider"], key["providerAccountId"])), None)

    def updateUser(self, update):
        changes = [c for c in USER if c in update]
        sets = ", ".join(f"{c} = ?" for c in changes)
        values = [to_row(c, update[c]) for c in changes]
        if "email" in update and "emailVerified" not in update:  # another address loses the proof of the old one
            sets += ", emailVerified = CASE WHEN email IS ? THEN emailVerified END"
            values.append(to_row("email", update["email"]))
        if_email = update.get("ifEmail")
        statement = f"UPDATE user SET {sets} WHERE id = ? AND (? IS NULL OR email = ?) RETURNING {', '.join(USER)}"
        user = self.one(USER, statement, *values, update["id"], if_email, if_email)
        if not user:
            raise NotFound("no such user")
        return user

    def deleteUser(self, id):
        return self.delete("user", USER, "id = ?", id)

    def linkAccount(self, account):
        return self.insert("account", ACCOUNT, account)

    def unlinkAccount(self, key):
        return self.delete("account", ACCOUNT, "provider = ? AND providerAccountId = ?", key["provider"], key["providerAccountId"])

    def getAccount(self, provider_account_id, provider):
        return next(iter(self.select("account", ACCOUNT, "provider = ? AND providerAccountId = ?", provider, provider_account_id)), None)

    def createSession(self, session):
        return self.insert("session", SESSION, session)

    def getSessionAndUser(self, token):
        columns = SESSION + USER
        row = f"SELECT {', '.join(columns)} FROM session JOIN user ON user.id = session.userId WHERE sessionToken = ?"
        both = self.one(columns, row, token)
        return {"session": {c: both[c] for c in SESSION}, "user": {c: both[c] for c in USER}} if both else None

    def updateSession(self, update):
        return self.update("session", SESSION, update, "sessionToken")

    def deleteSession(self, token):
        return self.delete("session", SESSION, "sessionToken = ?", token)

    def createVerificationToken(self, token):
        return self.insert("token", TOKEN, token)

    def useVerificationToken(self, key):
        return self.delete("token", TOKEN, "identifier = ? AND token = ?", key["identifier"], key["token"])

    def createAuthenticator(self, authenticator):
        return self.insert("authenticator", AUTHENTICATOR, authenticator)

    def getAuthenticator(self, credential_id):
        return next(iter(self.select("authenticator", AUTHENTICATOR, "credentialID = ?", credential_id)), None)

    def listAuthenticatorsByUserId(self, user_id):
        return self.select("authenticator", AUTHENTICATOR, "userId = ?", user_id)

    def updateAuthenticatorCounter(self, credential_id, counter):
        changed = self.update("authenticator", AUTHENTICATOR, {"credentialID": credential_id, "counter": counter}, "credentialID")
        if not changed:
            raise NotFound("no such authenticator")
        return changed

    def deleteExpired(self, now):
        now = instant(nanoseconds(now))  # in UTC, as they are stored
        sessions = self.rows(SESSION, "DELETE FROM session WHERE expires <= ? RETURNING sessionToken", now)
        tokens = self.rows(TOKEN, "DELETE FROM token WHERE expires <= ? RETURNING identifier", now)
        return {"sessions": len(sessions), "verificationTokens": len(tokens)}


if __name__ == "__main__":
    folder = os.path.join(tempfile.gettempdir(), "adaptertest-python")
    os.makedirs(folder, exist_ok=True)

    def path(store):
        return os.path.join(folder, store + ".db")

    def drop(store):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(path(store) + suffix):
                os.remove(path(store) + suffix)

    serve(
        {"name": "SQLite in Python", "features": ["second", "reopen"], "declarations": {"timeless": True, "noPooler": "a file has no pooler"}},
        lambda what: SQLiteStore(path(what["store"])),
        drop,
    )
