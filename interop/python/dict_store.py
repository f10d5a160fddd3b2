"""A store of users, accounts, sessions and tokens in a dict."""

import threading
import uuid

from measure import Conflict, NotFound, nanoseconds, serve


class DictStore:
    """One lock guards everything. Records are copied on the way in and out."""

    def __init__(self):
        self.lock = threading.Lock()
        self.users, self.accounts, self.sessions, self.tokens, self.authenticators = {}, {}, {}, {}, {}

    # users

    def createUser(self, user):
        with self.lock:
            user = {"id": str(uuid.uuid4()), "name": None, "email": None, "emailVerified": None, "image": None, **user}
            if user["id"] in self.users:
                raise Conflict("the id is taken")
            self.check_email(user)
            self.users[user["id"]] = user
            return dict(user)

    def check_email(self, user):
        for other in self.users.values():
            if user["email"] and other["email"] == user["email"] and other["id"] != user["id"]:
                raise Conflict("the e-mail address is taken")

    def getUser(self, id):
        with self.lock:
            return copied(self.users.get(id))

    def getUserByEmail(self, email):
        with self.lock:
            return copied(next((u for u in self.users.values() if email and u["email"] == email), None))

    def getUserByAccount(self, key):
        with self.lock:
            account = self.accounts.get(account_key(key))
            return copied(self.users.get(account["userId"])) if account else None

    def updateUser(self, update):
        with self.lock:
            if_email = update.pop("ifEmail", None)
            before = self.users.get(update["id"])
            if before is None or if_email and before["email"] != if_email:
                raise NotFound("no such user")
            user = {**before, **update}
            if user["email"] != before["email"] and "emailVerified" not in update:
                user["emailVerified"] = None
            self.check_email(user)
            self.users[user["id"]] = user
            return dict(user)

    def deleteUser(self, id):
        with self.lock:
            for records in (self.accounts, self.sessions, self.authenticators):
                for key in [k for k, r in records.items() if r["userId"] == id]:
                    del records[key]
            return self.users.pop(id, None)

    def create(self, records, key, record):
        """Store a record that has an owner and a key of its own."""
        with self.lock:
            if record["userId"] not in self.users:
                raise NotFound("the owner does not exist")
            if not key or key in records or isinstance(key, tuple) and "" in key:
                raise Conflict("the key is taken, or empty")
            records[key] = dict(record)
            return dict(record)

    # accounts

    def linkAccount(self, account):
        return self.create(self.accounts, account_key(account), account)

    def unlinkAccount(self, key):
        with self.lock:
            return self.accounts.pop(account_key(key), None)

    def getAccount(self, provider_account_id, provider):
        with self.lock:
            return copied(self.accounts.get((provider, provider_account_id)))

    # sessions

    def createSession(self, session):
        return self.create(self.sessions, session["sessionToken"], session)

    def getSessionAndUser(self, token):
        with self.lock:
            session = self.sessions.get(token)
            return {"session": dict(session), "user": dict(self.users[session["userId"]])} if session else None

    def updateSession(self, update):
        with self.lock:
            if update["sessionToken"] not in self.sessions:
                return None
            if update.get("userId", "") not in self.users and "userId" in update:
                raise NotFound("the owner does not exist")
            self.sessions[update["sessionToken"]].update(update)
            return dict(self.sessions[update["sessionToken"]])

    def deleteSession(self, token):
        with self.lock:
            return self.sessions.pop(token, None)

    # verification tokens

    def createVerificationToken(self, token):
        with self.lock:
            key = (token["identifier"], token["token"])
            if "" in key:
                raise ValueError("the key is empty")
            if key in self.tokens:
                raise Conflict("the token is taken")
            self.tokens[key] = dict(token)
            return dict(token)

    def useVerificationToken(self, key):
        with self.lock:
            return self.tokens.pop((key["identifier"], key["token"]), None)

    # authenticators

    def createAuthenticator(self, authenticator):
        return self.create(self.authenticators, authenticator["credentialID"], authenticator)

    def getAuthenticator(self, credential_id):
        with self.lock:
            return copied(self.authenticators.get(credential_id))

    def listAuthenticatorsByUserId(self, user_id):
        with self.lock:
            return [dict(a) for a in self.authenticators.values() if a["userId"] == user_id]

    def updateAuthenticatorCounter(self, credential_id, counter):
        with self.lock:
            if credential_id not in self.authenticators:
                raise NotFound("no such authenticator")
            self.authenticators[credential_id]["counter"] = counter
            return dict(self.authenticators[credential_id])

    def deleteExpired(self, now):
        with self.lock:
            count = {}
            for name, records in (("sessions", self.sessions), ("verificationTokens", self.tokens)):
                over = [k for k, r in records.items() if nanoseconds(r["expires"]) <= nanoseconds(now)]
                for key in over:
                    del records[key]
                count[name] = len(over)
            return count


def account_key(account):
    return (account["provider"], account["providerAccountId"])


def copied(record):
    return dict(record) if record else None


if __name__ == "__main__":
    stores = {}
    guard = threading.Lock()

    def open_store(what):
        with guard:
            return stores.setdefault(what["store"], DictStore())

    serve(
        {"name": "a dict in Python", "features": ["handles", "reopen"], "declarations": {"timeless": True}},
        open_store,
        drop=lambda store: stores.pop(store, None),
    )
