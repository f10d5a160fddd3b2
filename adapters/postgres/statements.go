package postgres

import (
	"fmt"
	"strings"
)

// statements are the SQL of the methods, for the names of the tables and the type
// of users.id. Every argument is cast, because some execution modes of pgx send
// only text to the server. Every text in a result is cast too, because its column
// may be varchar.
//
// A statement that stores a unique key returns no row if another record has the
// key. touchAuthenticator and deleteAuthenticator return a row of nulls if they
// refuse.
type statements struct {
	ids idKind

	createUser                         string
	createUserWithAccount              string
	createUserWithAccountAuthenticator string
	getUser                            string
	getUserByEmail                     string
	getUserByAccount                   string
	updateUser                         string // with {set} in it
	deleteUser                         string

	linkAccount          string
	getAccount           string
	listAccountsByUserID string
	updateAccount        string // with {set} in it
	unlinkAccount        string

	createSession          string
	getSession             string
	getSessionAndUser      string
	listSessionsByUserID   string
	updateSession          string // with {set} in it
	deleteSession          string
	deleteSessionsByUserID string

	createVerificationToken  string
	useVerificationToken     string
	deleteVerificationTokens string

	createAuthenticator        string
	getAuthenticator           string
	listAuthenticatorsByUserID string
	updateAuthenticatorCounter string
	touchAuthenticator         string
	renameAuthenticator        string
	takeTurnForUser            string
	deleteAuthenticator        string

	sweepSessions           string
	sweepVerificationTokens string
}

// The columns, in the order in which scan.go reads them.
const (
	userColumns = `u.id::text, u.name::text, COALESCE(u.email, '')::text, {u."emailVerified"}, u.image::text`

	accountColumns = `a.provider::text, a."providerAccountId"::text, a."userId"::text, a.type::text,
		a.access_token::text, a.refresh_token::text, a.id_token::text, a.scope::text, a.token_type::text,
		a.session_state::text, a.expires_at::bigint, a.authorization_details::text`

	sessionColumns = `s."sessionToken"::text, s."userId"::text, {s.expires}`

	tokenColumns = `v.identifier::text, v.token::text, {v.expires}`

	authenticatorColumns = `c."credentialID"::text, c."userId"::text, c."providerAccountId"::text,
		c."credentialPublicKey"::text, c.counter::bigint, c."credentialBackedUp", c."credentialDeviceType"::text, c.transports::text,
		c.name::text, {c.created}, {c."lastUsed"}`

	noAuthenticator = `NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`
)

// commitSetting sets synchronous_commit to $3 until the transaction ends. If $3 is
// null, the setting stays.
const commitSetting = `set_config('synchronous_commit', COALESCE($3::text, current_setting('synchronous_commit')), true)`

// The columns of a new record except its owner, with the types of the arguments.
const (
	newUserColumns = `name, email, "emailVerified", image`
	newUserTypes   = `text, text, timestamptz, text`

	newAccountColumns = `provider, "providerAccountId", type, access_token, refresh_token, id_token, scope, token_type,
		session_state, expires_at, authorization_details`
	newAccountTypes = `text, text, text, text, text, text, text, text, text, bigint, json`

	newAuthenticatorColumns = `"credentialID", "providerAccountId", "credentialPublicKey", counter, "credentialBackedUp",
		"credentialDeviceType", transports, name, created, "lastUsed"`
	newAuthenticatorTypes = `text, text, text, bigint, boolean, text, text, text, timestamptz, timestamptz`
)

// arguments returns the placeholders for arguments of the types, numbered from
// the number from: arguments(3, "text, json") is $3::text, $4::json.
func arguments(from int, types string) string {
	list := strings.Split(types, ", ")
	for i, typ := range list {
		list[i] = fmt.Sprintf("$%d::%s", from+i, typ)
	}
	return strings.Join(list, ", ")
}

// A row may hold an instant that time.Time can't hold, such as infinity. A
// statement that reads it fails in the scan. A statement that writes must fail
// on the server, which then undoes it: so a record that can't be returned is
// neither changed nor deleted. [ERR-10]

// reading and writing put the names of the tables and the columns of the records
// into a statement.
func (n names) reading(ids idKind, sql string) string {
	return n.fill(ids, sql, func(instant string) string { return instant })
}

func (n names) writing(ids idKind, sql string) string {
	return n.fill(ids, sql, func(instant string) string {
		return strings.ReplaceAll(`CASE WHEN {} BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
			THEN {} ELSE ({}::text || ' is out of range')::timestamptz END`, "{}", instant)
	})
}

func (n names) fill(ids idKind, sql string, instant func(column string) string) string {
	columns := strings.NewReplacer("{user}", userColumns, "{account}", accountColumns, "{session}", sessionColumns,
		"{token}", tokenColumns, "{authenticator}", authenticatorColumns).Replace(sql)
	pairs := []string{"{users}", n.users, "{accounts}", n.accounts, "{sessions}", n.sessions,
		"{verification_token}", n.verification, "{authenticators}", n.authenticators, "{id}", ids.cast}
	for _, column := range []string{`u."emailVerified"`, `s.expires`, `v.expires`, `c.created`, `c."lastUsed"`} {
		pairs = append(pairs, "{"+column+"}", instant(column))
	}
	return strings.NewReplacer(pairs...).Replace(columns)
}

func newStatements(n names, ids idKind) *statements {
	read := func(sql string) string { return n.reading(ids, sql) }
	write := func(sql string) string { return n.writing(ids, sql) }

	// The ID of a new user is the last argument, unless the database assigns it.
	insertUser := func(idArgument int) string {
		id := fmt.Sprintf(`COALESCE($%d::{id}, gen_random_uuid()::{id})`, idArgument)
		if ids.assigned {
			id = `DEFAULT`
		}
		return `INSERT INTO {users} AS u (` + newUserColumns + `, id) VALUES (` + arguments(1, newUserTypes) + `, ` + id + `)`
	}
	signUp := `WITH u AS ({insert} RETURNING *),
		a AS (INSERT INTO {accounts} (` + newAccountColumns + `, "userId") SELECT ` + arguments(5, newAccountTypes) + `, u.id FROM u)`
	signUpAuthenticator := `,
		c AS (INSERT INTO {authenticators} (` + newAuthenticatorColumns + `, "userId") SELECT ` + arguments(16, newAuthenticatorTypes) + `, u.id FROM u)`

	return &statements{
		ids: ids,

		createUser: write(insertUser(5) + ` ON CONFLICT DO NOTHING RETURNING {user}`),

		// The account and the authenticator get the ID of the new user.
		createUserWithAccount: write(strings.Replace(signUp, "{insert}", insertUser(16), 1) + ` SELECT {user} FROM u`),
		createUserWithAccountAuthenticator: write(strings.Replace(signUp+signUpAuthenticator, "{insert}", insertUser(26), 1) +
			` SELECT {user} FROM u`),

		getUser: read(`SELECT {user} FROM {users} AS u WHERE u.id = $1::{id}`),

		getUserByEmail: read(`SELECT {user} FROM {users} AS u WHERE u.email = $1::text`),

		getUserByAccount: read(`SELECT {user} FROM {accounts} AS a JOIN {users} AS u ON u.id = a."userId"
			WHERE a.provider = $1::text AND a."providerAccountId" = $2::text`),

		updateUser: write(`UPDATE {users} AS u SET {set} WHERE u.id = $1::{id} RETURNING {user}`),

		deleteUser: write(`DELETE FROM {users} AS u WHERE u.id = $1::{id} RETURNING {user}`),

		linkAccount: write(`INSERT INTO {accounts} AS a (` + newAccountColumns + `, "userId")
			VALUES (` + arguments(1, newAccountTypes) + `, $12::{id}) ON CONFLICT DO NOTHING RETURNING {account}`),

		getAccount: read(`SELECT {account} FROM {accounts} AS a WHERE a.provider = $1::text AND a."providerAccountId" = $2::text`),

		listAccountsByUserID: read(`SELECT {account} FROM {accounts} AS a JOIN {users} AS u ON u.id = a."userId" WHERE a."userId" = $1::{id}`),

		updateAccount: write(`UPDATE {accounts} AS a SET {set} WHERE a.provider = $1::text AND a."providerAccountId" = $2::text RETURNING {account}`),

		unlinkAccount: write(`DELETE FROM {accounts} AS a WHERE a.provider = $1::text AND a."providerAccountId" = $2::text RETURNING {account}`),

		createSession: write(`INSERT INTO {sessions} AS s ("sessionToken", "userId", expires) VALUES ($1::text, $3::{id}, $2::timestamptz)
			ON CONFLICT DO NOTHING RETURNING {session}`),

		getSession: read(`SELECT {session} FROM {sessions} AS s WHERE s."sessionToken" = $1::text`),

		getSessionAndUser: read(`SELECT {user}, {s.expires} FROM {sessions} AS s JOIN {users} AS u ON u.id = s."userId"
			WHERE s."sessionToken" = $1::text`),

		listSessionsByUserID: read(`SELECT {session} FROM {sessions} AS s JOIN {users} AS u ON u.id = s."userId" WHERE s."userId" = $1::{id}`),

		updateSession: write(`UPDATE {sessions} AS s SET {set} WHERE s."sessionToken" = $1::text RETURNING {session}`),

		deleteSession: write(`DELETE FROM {sessions} AS s WHERE s."sessionToken" = $1::text RETURNING {session}`),

		deleteSessionsByUserID: write(`DELETE FROM {sessions} WHERE "userId" = $1::{id} AND "sessionToken" <> $2::text`),

		createVerificationToken: write(`INSERT INTO {verification_token} AS v (identifier, token, expires)
			VALUES ($1::text, $2::text, $3::timestamptz) ON CONFLICT DO NOTHING RETURNING {token}`),

		useVerificationToken: write(`DELETE FROM {verification_token} AS v WHERE v.identifier = $1::text AND v.token = $2::text RETURNING {token}`),

		deleteVerificationTokens: write(`DELETE FROM {verification_token} WHERE identifier = $1::text`),

		createAuthenticator: write(`INSERT INTO {authenticators} AS c (` + newAuthenticatorColumns + `, "userId")
			VALUES (` + arguments(1, newAuthenticatorTypes) + `, $11::{id}) ON CONFLICT DO NOTHING RETURNING {authenticator}`),

		getAuthenticator: read(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."credentialID" = $1::text`),

		listAuthenticatorsByUserID: read(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."userId" = $1::{id}`),

		updateAuthenticatorCounter: write(`UPDATE {authenticators} AS c SET counter = $2::bigint WHERE c."credentialID" = $1::text RETURNING {authenticator}`),

		// A row of nulls means that the stored counter differs from the expected
		// one.
		touchAuthenticator: write(`WITH touched AS (UPDATE {authenticators} AS c SET counter = $3::bigint, "lastUsed" = $4::timestamptz
				WHERE c."credentialID" = $1::text AND c.counter = $2::bigint RETURNING {authenticator})
			TABLE touched UNION ALL SELECT ` + noAuthenticator + ` FROM {authenticators}
				WHERE "credentialID" = $1::text AND NOT EXISTS (SELECT FROM touched)`),

		renameAuthenticator: write(`UPDATE {authenticators} AS c SET name = $3::text
			WHERE c."credentialID" = $2::text AND c."userId" = $1::{id} RETURNING {authenticator}`),

		// An update of the user's row that changes no value: it makes calls for
		// one user take turns, at every isolation level.
		takeTurnForUser: write(`UPDATE {users} SET name = name WHERE id = $1::{id}`),

		// A row of nulls means that this is the user's last credential. $3 is
		// keepOne.
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
			TABLE gone UNION ALL SELECT ` + noAuthenticator + ` FROM ending WHERE NOT EXISTS (SELECT FROM allowed)`),

		// A sweep reads the index in order, and each batch begins where the
		// batch before ended: while an old snapshot exists, entries of deleted
		// rows stay in the index. It skips rows that others have locked, so it
		// never waits and never takes part in a deadlock.
		sweepSessions: write(`WITH
			due AS (SELECT ctid FROM {sessions} WHERE expires <= $1::timestamptz AND (expires, "sessionToken") > ($2::timestamptz, $4::text)
				ORDER BY expires, "sessionToken" LIMIT ` + sweepBatch + ` FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM {sessions} WHERE ctid = ANY (ARRAY(SELECT ctid FROM due)) RETURNING expires, "sessionToken")
			SELECT count(*) OVER (), expires, "sessionToken"::text, '' FROM gone, ` + commitSetting + ` ORDER BY expires DESC, "sessionToken" DESC LIMIT 1`),

		sweepVerificationTokens: write(`WITH
			due AS (SELECT ctid FROM {verification_token}
				WHERE expires <= $1::timestamptz AND (expires, identifier, token) > ($2::timestamptz, $4::text, $5::text)
				ORDER BY expires, identifier, token LIMIT ` + sweepBatch + ` FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM {verification_token} WHERE ctid = ANY (ARRAY(SELECT ctid FROM due)) RETURNING expires, identifier, token)
			SELECT count(*) OVER (), expires, identifier::text, token::text FROM gone, ` + commitSetting + `
				ORDER BY expires DESC, identifier DESC, token DESC LIMIT 1`),
	}
}
