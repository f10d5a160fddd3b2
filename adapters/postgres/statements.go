package postgres

import (
	"fmt"
	"strings"
)

// statements are those that take no user ID, so that they fit whatever type
// users.id has. Every argument is cast, since some execution modes of pgx let
// the server see only text; so is every text in a result, which may be varchar.
type statements struct {
	getUserByEmail   string
	getUserByAccount string

	getAccount    string
	updateAccount string // with {set} for what is set
	unlinkAccount string

	getSessionAndUser   string
	getSession          string
	updateSessionExpiry string
	deleteSession       string

	createVerificationToken string
	useVerificationToken    string

	deleteVerificationTokens string

	getAuthenticator           string
	updateAuthenticatorCounter string
	touchAuthenticator         string

	sweepSessions           string
	sweepVerificationTokens string
}

// idStatements are those that take a user ID.
//
// The statements that write for an owner lock the owner's row first (FOR KEY
// SHARE, which conflicts only with its deletion). They wait for a DeleteUser
// that came first, and then find no owner; a DeleteUser that comes later waits
// for them, and then sees what they wrote.
//
// They answer in one of three ways: no row, the owner or user is absent; a row
// of nulls, refused because of a conflict; a row, the record as stored.
//
// NOT EXISTS repeats what the unique indexes enforce, for databases made by
// Auth.js that EnsureSchema has not seen yet.
type idStatements struct {
	kind idKind

	createUser string
	getUser    string
	updateUser string
	lockUser   string
	deleteUser string

	createUserWithAccount              string
	createUserWithAccountAuthenticator string

	linkAccount          string
	linkAccountDetails   string
	listAccountsByUserID string

	createSession          string
	updateSession          string
	listSessionsByUserID   string
	deleteSessionsByUserID string

	createAuthenticator        string
	listAuthenticatorsByUserID string
	takeTurnForUser            string
	deleteAuthenticator        string
	renameAuthenticator        string
}

// Columns in the order in which scan.go reads them.
const (
	userColumns = `u.id::text, u.name::text, COALESCE(u.email, '')::text, {verified}, u.image::text`

	accountColumns = `a.provider::text, a."providerAccountId"::text, a."userId"::text, a.type::text,
		a.access_token::text, a.refresh_token::text, a.id_token::text, a.scope::text, a.token_type::text,
		a.session_state::text, a.expires_at::bigint, authorization_details::text`

	sessionColumns = `s."sessionToken"::text, s."userId"::text, {expires}`

	verificationColumns = `v.identifier::text, v.token::text, {expires}`

	authenticatorColumns = `c."credentialID"::text, c."userId"::text, c."providerAccountId"::text,
		c."credentialPublicKey"::text, c.counter::bigint, c."credentialBackedUp", c."credentialDeviceType"::text, c.transports::text,
		c.name::text, {created}, {lastUsed}`

	// What a new record has beside its owner, with the types of the arguments.
	newUserColumns = `name, email, "emailVerified", image`
	newUserTypes   = `text, text, timestamptz, text`

	newAccountColumns = `provider, "providerAccountId", type, access_token, refresh_token, id_token, scope, token_type,
		session_state, expires_at, authorization_details`
	newAccountTypes = `text, text, text, text, text, text, text, text, text, bigint, json`

	newAuthenticatorColumns = `"credentialID", "providerAccountId", "credentialPublicKey", counter, "credentialBackedUp",
		"credentialDeviceType", transports, name, created, "lastUsed"`
	newAuthenticatorTypes = `text, text, text, bigint, boolean, text, text, text, timestamptz, timestamptz`

	// lacking stands in for the column that the accounts of Auth.js do not
	// have: a name without a table is looked for in the inner query first.
	lacking = `(SELECT NULL::text AS authorization_details) AS lacking`
)

// arguments writes arguments of the types, the first of them number from:
// arguments(3, "text, json") is $3::text, $4::json.
func arguments(from int, types string) string {
	list := strings.Split(types, ", ")
	for i, typ := range list {
		list[i] = fmt.Sprintf("$%d::%s", from+i, typ)
	}
	return strings.Join(list, ", ")
}

// checked makes the server fail where a column holds what is no instant of the
// years 1 to 9999, such as infinity. The statement is then undone: a record that
// cannot be returned is not deleted or changed either. Reads leave the check to
// the scan. [ERR-10]
func checked(column string) string {
	return strings.ReplaceAll(`CASE WHEN {} BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
		THEN {} ELSE ({}::text || ' is out of range')::timestamptz END`, "{}", column)
}

// fill returns functions that put names and columns into statements, for those
// that read and for those that write.
func (n names) fill(kind idKind) (read, write func(string) string) {
	names := strings.NewReplacer(
		"{users}", n.users, "{accounts}", n.accounts, "{sessions}", n.sessions,
		"{verification_token}", n.verification, "{authenticators}", n.authenticators,
		"{user}", userColumns, "{account}", accountColumns, "{session}", sessionColumns,
		"{verification}", verificationColumns, "{authenticator}", authenticatorColumns,
		"{no authenticator}", strings.Repeat("NULL, ", 10)+"NULL",
		"{lacking}", lacking, "{id}", kind.cast,
	)
	plain := strings.NewReplacer("{verified}", `u."emailVerified"`, "{expires}", `expires`,
		"{created}", `c.created`, "{lastUsed}", `c."lastUsed"`)
	check := strings.NewReplacer("{verified}", checked(`u."emailVerified"`), "{expires}", checked(`expires`),
		"{created}", checked(`c.created`), "{lastUsed}", checked(`c."lastUsed"`))
	return func(sql string) string { return plain.Replace(names.Replace(sql)) },
		func(sql string) string { return check.Replace(names.Replace(sql)) }
}

func newStatements(n names) *statements {
	read, write := n.fill(idKind{})
	return &statements{
		getUserByEmail: read(`SELECT {user} FROM {users} AS u WHERE u.email = $1::text`),

		getUserByAccount: read(`SELECT {user} FROM {accounts} AS a JOIN {users} AS u ON u.id = a."userId"
			WHERE a.provider = $1::text AND a."providerAccountId" = $2::text`),

		getAccount: read(`SELECT x.* FROM {lacking}, LATERAL (SELECT {account} FROM {accounts} AS a
			WHERE a.provider = $1::text AND a."providerAccountId" = $2::text) AS x`),

		updateAccount: write(`WITH changed AS (UPDATE {accounts} SET {set} WHERE provider = $1::text AND "providerAccountId" = $2::text RETURNING *)
			SELECT x.* FROM {lacking}, LATERAL (SELECT {account} FROM changed AS a) AS x`),

		unlinkAccount: write(`WITH gone AS (DELETE FROM {accounts} WHERE provider = $1::text AND "providerAccountId" = $2::text RETURNING *)
			SELECT x.* FROM {lacking}, LATERAL (SELECT {account} FROM gone AS a) AS x`),

		getSessionAndUser: read(`SELECT {user}, {expires} FROM {sessions} AS s JOIN {users} AS u ON u.id = s."userId"
			WHERE s."sessionToken" = $1::text`),

		getSession: read(`SELECT {session} FROM {sessions} AS s WHERE s."sessionToken" = $1::text`),

		updateSessionExpiry: write(`UPDATE {sessions} AS s SET expires = $2::timestamptz WHERE s."sessionToken" = $1::text RETURNING {session}`),

		deleteSession: write(`DELETE FROM {sessions} AS s WHERE s."sessionToken" = $1::text RETURNING {session}`),

		createVerificationToken: write(`INSERT INTO {verification_token} AS v (identifier, token, expires)
			SELECT $1::text, $2::text, $3::timestamptz
			WHERE NOT EXISTS (SELECT FROM {verification_token} WHERE identifier = $1::text AND token = $2::text)
			ON CONFLICT DO NOTHING RETURNING {verification}`),

		useVerificationToken: write(`DELETE FROM {verification_token} AS v WHERE v.identifier = $1::text AND v.token = $2::text RETURNING {verification}`),

		deleteVerificationTokens: write(`DELETE FROM {verification_token} WHERE identifier = $1::text`),

		getAuthenticator: read(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."credentialID" = $1::text`),

		updateAuthenticatorCounter: write(`UPDATE {authenticators} AS c SET counter = $2::bigint WHERE c."credentialID" = $1::text RETURNING {authenticator}`),

		// The row of nulls says that the stored counter is another one.
		touchAuthenticator: write(`WITH touched AS (UPDATE {authenticators} AS c SET counter = $3::bigint, "lastUsed" = $4::timestamptz
				WHERE c."credentialID" = $1::text AND c.counter = $2::bigint RETURNING {authenticator})
			TABLE touched UNION ALL SELECT {no authenticator} FROM {authenticators}
				WHERE "credentialID" = $1::text AND NOT EXISTS (SELECT FROM touched)`),

		// Rows that somebody else has locked are being extended or deleted. The
		// sweep passes them by, so it never waits and never takes part in a
		// deadlock.
		sweepSessions: write(`DELETE FROM {sessions} WHERE expires <= $1::timestamptz AND ctid = ANY (ARRAY(
			SELECT ctid FROM {sessions} WHERE expires <= $1::timestamptz LIMIT $2::bigint FOR UPDATE SKIP LOCKED))`),

		sweepVerificationTokens: write(`DELETE FROM {verification_token} WHERE expires <= $1::timestamptz AND ctid = ANY (ARRAY(
			SELECT ctid FROM {verification_token} WHERE expires <= $1::timestamptz LIMIT $2::bigint FOR UPDATE SKIP LOCKED))`),
	}
}

func newIDStatements(n names, kind idKind) *idStatements {
	read, write := n.fill(kind)
	s := &idStatements{
		kind: kind,

		createUser: write(`INSERT INTO {users} AS u (` + newUserColumns + `, id)
			SELECT ` + arguments(1, newUserTypes) + `, COALESCE($5::{id}, gen_random_uuid()::{id})
			WHERE NOT EXISTS (SELECT FROM {users} WHERE email = $2::text)
			ON CONFLICT DO NOTHING RETURNING {user}`),

		getUser: read(`SELECT {user} FROM {users} AS u WHERE u.id = $1::{id}`),

		updateUser: write(`WITH taken AS (SELECT FROM {users} WHERE $4::boolean AND email = $5::text AND id <> $1::{id}
				AND EXISTS (SELECT FROM {users} WHERE id = $1::{id})),
			changed AS (UPDATE {users} AS u SET
				name = CASE WHEN $2::boolean THEN $3::text ELSE u.name END,
				email = CASE WHEN $4::boolean THEN $5::text ELSE u.email END,
				"emailVerified" = CASE WHEN $6::boolean THEN $7::timestamptz ELSE u."emailVerified" END,
				image = CASE WHEN $8::boolean THEN $9::text ELSE u.image END
				WHERE u.id = $1::{id} AND NOT EXISTS (SELECT FROM taken) RETURNING {user})
			TABLE changed UNION ALL SELECT NULL, NULL, NULL, NULL, NULL FROM taken`),

		lockUser: write(`SELECT FROM {users} WHERE id = $1::{id} FOR UPDATE`),

		// Authenticators go by their foreign key: their table is never one
		// that Auth.js made without it.
		deleteUser: write(`WITH s AS (DELETE FROM {sessions} WHERE "userId" = $1::{id}),
			a AS (DELETE FROM {accounts} WHERE "userId" = $1::{id})
			DELETE FROM {users} AS u WHERE u.id = $1::{id} RETURNING {user}`),

		createSession: write(`WITH owner AS (SELECT id FROM {users} WHERE id = $2::{id} FOR KEY SHARE),
			made AS (INSERT INTO {sessions} AS s ("sessionToken", "userId", expires)
				SELECT $1::text, owner.id, $3::timestamptz FROM owner
				WHERE NOT EXISTS (SELECT FROM {sessions} WHERE "sessionToken" = $1::text)
				ON CONFLICT DO NOTHING RETURNING {session})
			SELECT made.* FROM owner LEFT JOIN made ON true`),

		// Here the row of nulls says that the session is there and the new
		// owner is not.
		updateSession: write(`WITH owner AS (SELECT id FROM {users} WHERE id = $2::{id} FOR KEY SHARE),
			changed AS (UPDATE {sessions} AS s SET "userId" = owner.id,
				expires = CASE WHEN $3::boolean THEN $4::timestamptz ELSE s.expires END
				FROM owner WHERE s."sessionToken" = $1::text RETURNING {session})
			TABLE changed UNION ALL SELECT NULL, NULL, NULL FROM {sessions}
				WHERE "sessionToken" = $1::text AND NOT EXISTS (SELECT FROM owner)`),

		listSessionsByUserID: read(`SELECT {session} FROM {sessions} AS s JOIN {users} AS u ON u.id = s."userId" WHERE s."userId" = $1::{id}`),

		deleteSessionsByUserID: write(`DELETE FROM {sessions} WHERE "userId" = $1::{id} AND "sessionToken" <> $2::text`),

		listAccountsByUserID: read(`SELECT x.* FROM {lacking}, LATERAL (SELECT {account} FROM {accounts} AS a JOIN {users} AS u ON u.id = a."userId"
			WHERE a."userId" = $1::{id}) AS x`),

		createAuthenticator: write(`WITH owner AS (SELECT id FROM {users} WHERE id = $11::{id} FOR KEY SHARE),
			made AS (INSERT INTO {authenticators} AS c (` + newAuthenticatorColumns + `, "userId")
				SELECT ` + arguments(1, newAuthenticatorTypes) + `, owner.id FROM owner
				ON CONFLICT DO NOTHING RETURNING {authenticator})
			SELECT made.* FROM owner LEFT JOIN made ON true`),

		// A change of the user's row that changes nothing: calls for one user
		// take turns, at every isolation level.
		takeTurnForUser: write(`UPDATE {users} SET name = name WHERE id = $1::{id}`),

		// The row of nulls says that this is the last way in. $3 is keepOne.
		deleteAuthenticator: write(`WITH
			ending AS (SELECT "credentialID", "providerAccountId" FROM {authenticators} WHERE "credentialID" = $2::text AND "userId" = $1::{id}),
			others AS (SELECT "providerAccountId" FROM {authenticators} WHERE "userId" = $1::{id} AND "credentialID" <> $2::text),
			connected AS (SELECT provider, "providerAccountId" FROM {accounts} AS a
				WHERE "userId" = $1::{id} AND type = 'webauthn'
				AND "providerAccountId" IN (SELECT "providerAccountId" FROM ending)
				AND "providerAccountId" NOT IN (SELECT "providerAccountId" FROM others)),
			allowed AS (SELECT FROM ending WHERE NOT $3::boolean OR EXISTS (SELECT FROM others)
				OR (SELECT count(*) FROM {accounts} WHERE "userId" = $1::{id}) > (SELECT count(*) FROM connected)),
			gone AS (DELETE FROM {authenticators} AS c USING ending WHERE c."credentialID" = ending."credentialID"
				AND EXISTS (SELECT FROM allowed) RETURNING {authenticator}),
			unlinked AS (DELETE FROM {accounts} AS a USING connected AS x
				WHERE a.provider = x.provider AND a."providerAccountId" = x."providerAccountId" AND EXISTS (SELECT FROM allowed))
			TABLE gone UNION ALL SELECT {no authenticator} FROM ending WHERE NOT EXISTS (SELECT FROM allowed)`),

		renameAuthenticator: write(`UPDATE {authenticators} AS c SET name = $3::text
			WHERE c."credentialID" = $2::text AND c."userId" = $1::{id} RETURNING {authenticator}`),

		listAuthenticatorsByUserID: read(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."userId" = $1::{id}`),
	}

	if kind.assigned {
		s.createUser = write(`INSERT INTO {users} AS u (` + newUserColumns + `)
			SELECT ` + arguments(1, newUserTypes) + `
			WHERE NOT EXISTS (SELECT FROM {users} WHERE email = $2::text)
			ON CONFLICT DO NOTHING RETURNING {user}`)
	}

	// The account and the authenticator have the ID that the new user has got.
	signUp := func(userID string, more string) string {
		return write(`WITH u AS (INSERT INTO {users} (` + newUserColumns + `, id)
				VALUES (` + arguments(1, newUserTypes) + `, ` + userID + `) RETURNING *),
			a AS (INSERT INTO {accounts} (` + newAccountColumns + `, "userId") SELECT ` + arguments(5, newAccountTypes) + `, u.id FROM u)` + more + `
			SELECT {user} FROM u`)
	}
	authenticatorToo := `,
			c AS (INSERT INTO {authenticators} (` + newAuthenticatorColumns + `, "userId") SELECT ` + arguments(16, newAuthenticatorTypes) + `, u.id FROM u)`
	userID := func(argument int) string {
		if kind.assigned {
			return `DEFAULT`
		}
		return fmt.Sprintf(`COALESCE($%d::{id}, gen_random_uuid()::{id})`, argument)
	}
	s.createUserWithAccount = signUp(userID(16), "")
	s.createUserWithAccountAuthenticator = signUp(userID(26), authenticatorToo)

	link := func(columns, types string, owner int) string {
		return write(fmt.Sprintf(`WITH owner AS (SELECT id FROM {users} WHERE id = $%d::{id} FOR KEY SHARE),
			made AS (INSERT INTO {accounts} (%s, "userId")
				SELECT %s, owner.id FROM owner
				WHERE NOT EXISTS (SELECT FROM {accounts} WHERE provider = $1::text AND "providerAccountId" = $2::text)
				ON CONFLICT DO NOTHING RETURNING *)
			SELECT x.* FROM {lacking} CROSS JOIN owner LEFT JOIN LATERAL (SELECT {account} FROM made AS a) AS x ON true`,
			owner, columns, arguments(1, types)))
	}
	s.linkAccountDetails = link(newAccountColumns, newAccountTypes, 12)
	s.linkAccount = link(strings.TrimSuffix(newAccountColumns, ", authorization_details"), strings.TrimSuffix(newAccountTypes, ", json"), 11)
	return s
}
