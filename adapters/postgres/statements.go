package postgres

import "strings"

// statements are those that take no user ID, so that they fit whatever type
// users.id has. Every argument is cast, since some execution modes of pgx let
// the server see only text; so is every text in a result, which may be varchar.
type statements struct {
	getUserByEmail   string
	getUserByAccount string

	getAccount    string
	unlinkAccount string

	getSessionAndUser   string
	getSession          string
	updateSessionExpiry string
	deleteSession       string

	createVerificationToken string
	useVerificationToken    string

	getAuthenticator           string
	updateAuthenticatorCounter string

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

	linkAccount        string
	linkAccountDetails string

	createSession string
	updateSession string

	createAuthenticator        string
	listAuthenticatorsByUserID string
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
		c."credentialPublicKey"::text, c.counter::bigint, c."credentialBackedUp", c."credentialDeviceType"::text, c.transports::text`

	// lacking stands in for the column that the accounts of Auth.js do not
	// have: a name without a table is looked for in the inner query first.
	lacking = `(SELECT NULL::text AS authorization_details) AS lacking`
)

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
		"{lacking}", lacking, "{id}", kind.cast,
	)
	plain := strings.NewReplacer("{verified}", `u."emailVerified"`, "{expires}", `expires`)
	check := strings.NewReplacer("{verified}", checked(`u."emailVerified"`), "{expires}", checked(`expires`))
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

		getAuthenticator: read(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."credentialID" = $1::text`),

		updateAuthenticatorCounter: write(`UPDATE {authenticators} AS c SET counter = $2::bigint WHERE c."credentialID" = $1::text RETURNING {authenticator}`),

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

		createUser: write(`INSERT INTO {users} AS u (id, name, email, "emailVerified", image)
			SELECT COALESCE($1::{id}, gen_random_uuid()::{id}), $2::text, $3::text, $4::timestamptz, $5::text
			WHERE NOT EXISTS (SELECT FROM {users} WHERE email = $3::text)
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

		createAuthenticator: write(`WITH owner AS (SELECT id FROM {users} WHERE id = $2::{id} FOR KEY SHARE),
			made AS (INSERT INTO {authenticators} AS c ("credentialID", "userId", "providerAccountId",
					"credentialPublicKey", counter, "credentialBackedUp", "credentialDeviceType", transports)
				SELECT $1::text, owner.id, $3::text, $4::text, $5::bigint, $6::boolean, $7::text, $8::text FROM owner
				ON CONFLICT DO NOTHING RETURNING {authenticator})
			SELECT made.* FROM owner LEFT JOIN made ON true`),

		listAuthenticatorsByUserID: read(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."userId" = $1::{id}`),
	}

	if kind.assigned {
		s.createUser = write(`INSERT INTO {users} AS u (name, email, "emailVerified", image)
			SELECT $1::text, $2::text, $3::timestamptz, $4::text
			WHERE NOT EXISTS (SELECT FROM {users} WHERE email = $2::text)
			ON CONFLICT DO NOTHING RETURNING {user}`)
	}

	link := func(column, value string) string {
		return write(strings.NewReplacer("{column}", column, "{value}", value).Replace(
			`WITH owner AS (SELECT id FROM {users} WHERE id = $3::{id} FOR KEY SHARE),
			made AS (INSERT INTO {accounts} (provider, "providerAccountId", "userId", type, access_token, refresh_token,
					id_token, scope, token_type, session_state, expires_at{column})
				SELECT $1::text, $2::text, owner.id, $4::text, $5::text, $6::text,
					$7::text, $8::text, $9::text, $10::text, $11::bigint{value} FROM owner
				WHERE NOT EXISTS (SELECT FROM {accounts} WHERE provider = $1::text AND "providerAccountId" = $2::text)
				ON CONFLICT DO NOTHING RETURNING *)
			SELECT x.* FROM {lacking} CROSS JOIN owner LEFT JOIN LATERAL (SELECT {account} FROM made AS a) AS x ON true`))
	}
	s.linkAccount = link("", "")
	s.linkAccountDetails = link(", authorization_details", ", $12::json")
	return s
}
