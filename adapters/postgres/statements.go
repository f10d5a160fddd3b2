package postgres

import (
	"fmt"
	"strings"
)

// statements are the SQL of the methods, for the tables as they are: see shape.
// Every argument is cast, because lib/pq and some execution modes of pgx send only text to the
// server. Every text in a result is cast too, because its column may be varchar. fill leaves
// out the casts of the columns that have the type.
//
// A table has one alias in all statements, and a column has the alias before its
// name in the default layout. fill puts the table's own names in their place, and leaves
// the alias out where a read has only one table. An instant, or an argument for one, is
// in braces: {s.expires}, {$2 s.expires}.
//
// A statement that stores a unique key returns no row if another record has the
// key. touchAuthenticator, deleteAuthenticator and deletePassword return a row of nulls
// if they refuse.
type statements struct {
	*shape
	styled *statements // the same for a connection whose DateStyle may not be ISO

	createUser                         string
	createUserWithAccount              string
	createUserWithAccountAuthenticator string
	getUser                            find
	getUserByEmail                     find
	getUserByEither                    string
	getUserByAccount                   find
	updateUser, updateUserIf           string // with {set} in it
	getUserIf                          string
	deleteUser                         string
	deleteAllOfUser, deleteBareUser    string // for a site that may keep what belongs to the user

	linkAccount          string
	getAccount           find
	listAccountsByUserID find
	updateAccount        string // with {set} in it
	unlinkAccount        string

	createSession          string
	getSession             string
	getOtherSession        string
	getSessionAndUser      find
	listSessionsByUserID   find
	updateSession          string // with {set} in it
	deleteSession          string
	deleteSessionsByUserID string

	createVerificationToken  string
	getTokenOf               string // any token of an identifier
	getVerificationToken     string
	useVerificationToken     string
	deleteVerificationTokens string

	createAuthenticator        string
	getAuthenticator           find
	getOwnAuthenticator        string
	getAuthenticatorAt         string
	listAuthenticatorsByUserID find
	updateAuthenticatorCounter string
	updateAuthenticatorBackup  string
	touchAuthenticator         string
	renameAuthenticator        string
	takeTurnForUser            string
	deleteAuthenticator        string

	createUserWithPassword string
	getPassword            find
	getPasswordAt          string
	setPassword            string
	swapPassword           string
	deletePassword         string

	sweepSessions           string
	sweepVerificationTokens string
}

// The columns, in the order in which scan.go reads them.
const (
	userColumns = `u.id::text, u.name::text, u.email::text, {u."emailVerified"}, u.image::text`

	accountColumns = `a."userId"::text, a.provider::text, a."providerAccountId"::text, a.type::text,
		a.access_token::text, a.refresh_token::text, a.id_token::text, a.scope::text, a.token_type::text,
		a.session_state::text, a.expires_at::bigint, a.authorization_details::text`

	sessionColumns = `s."userId"::text, s."sessionToken"::text, {s.expires}`

	tokenColumns = `v.identifier::text, v.token::text, {v.expires}`

	authenticatorColumns = `c."userId"::text, c."credentialID"::text, c."providerAccountId"::text,
		c."credentialPublicKey"::text, c.counter::bigint, c."credentialBackedUp", c."credentialDeviceType"::text, c.transports::text,
		c.name::text, {c.created}, {c."lastUsed"}`

	passwordColumns = `p."userId"::text, p.hash::text, p.state::text`

	noAuthenticator = `NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`
)

// commitSetting sets synchronous_commit to $3 until the transaction ends. If $3 is
// null, the setting stays.
const commitSetting = `set_config('synchronous_commit', COALESCE($3::text, current_setting('synchronous_commit')), true)`

// The columns of a new record except its owner, in the order of the arguments.
const (
	newUser    = `u.name, u.email, u."emailVerified", u.image`
	newAccount = `a.provider, a."providerAccountId", a.type, a.access_token, a.refresh_token, a.id_token, a.scope, a.token_type,
		a.session_state, a.expires_at, a.authorization_details`
	newSession       = `s."sessionToken", s.expires`
	newToken         = `v.identifier, v.token, v.expires`
	newAuthenticator = `c."credentialID", c."providerAccountId", c."credentialPublicKey", c.counter, c."credentialBackedUp",
		c."credentialDeviceType", c.transports, c.name, c.created, c."lastUsed"`
	newPassword = `p.hash, p.state`
)

// A row may hold an instant that time.Time can't hold, such as infinity. A
// statement that reads it fails in the scan. A statement that writes must fail
// on the server, which then undoes it: so a record that can't be returned is
// neither changed nor deleted. [ERR-10]

// reading and writing put the names of the tables and the columns of the records into a
// statement. What reading returns ends after its first row: the server then does not look
// for another one.
func (s *shape) reading(sql string) string { return s.fill(sql+mostRows(sql, "1"), s.sentInstant) }
func (s *shape) writing(sql string) string { return s.fill(sql, s.writtenInstant) }

// find is a statement that reads, in two forms. What quick returns is right, because what
// may be wrong can't be read: quick sends instants as drivers do. A record that it does not
// find may be hidden, so sure has the last word.
type find struct{ quick, sure string }

func (s *shape) finding(sql string) find { return find{s.fill(sql, s.instant), s.reading(sql)} }

// listing returns a find for the records of a user. A list from which one may be missing is
// wrong, so the quick form says whether others may be hidden, in the place of the owner, whom
// the caller knows: where statements are not prepared, each column more takes time, and a
// condition or a limit takes more.
func (s *shape) listing(alias, columns, from string) find {
	all := s.fill("SELECT "+columns+from+mostRows(from, "NULL"), s.sentInstant)
	if !s.styled {
		return find{all, all}
	}
	asking := strings.Replace(columns, alias+`."userId"::text`, "row_security_active("+alias+".tableoid)", 1)
	return find{s.fill("SELECT "+asking+from, s.instant), all}
}

// sweeping is reading for a statement that sends no instant but texts of to_json, which
// DateStyle does not change.
func (s *shape) sweeping(sql string) string { return s.fill(sql+mostRows(sql, "1"), s.instant) }

// mostRows returns a limit, with which a read fails with hiddenRows while row security may
// hide rows of its tables: a site may turn it on at any time, and a hidden record is no
// absent one. A write that changes nothing is followed by a read. The server reads the
// limit even if it knows that no row can be visible, where it reads no condition.
func mostRows(sql, most string) string {
	var active []string
	for _, name := range []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords"} {
		if strings.Contains(sql, "{"+name+"} AS") {
			active = append(active, "row_security_active('{"+name+"}'::regclass)")
		}
	}
	return " LIMIT CASE WHEN " + strings.Join(active, " OR ") + " THEN -1 ELSE " + most + " END"
}

func newStatements(shape *shape) *statements {
	of := *shape
	of.styled = true
	all := statementsFor(shape)
	all.styled = statementsFor(&of)
	return all
}

func statementsFor(shape *shape) *statements {
	read, lookup, list, write := shape.reading, shape.finding, shape.listing, shape.writing
	into, values, count := shape.into, shape.values, shape.count

	// The ID of a new user is the last argument, unless the database assigns it.
	insertUser := func(idArgument int) string {
		id := fmt.Sprintf(`COALESCE($%d::{id}, gen_random_uuid()::{id})`, idArgument)
		if shape.ids.assigned {
			id = `DEFAULT`
		}
		return `INSERT INTO {users} AS u (` + into(newUser) + `, {id of u}) VALUES (` + values(newUser, 1) + `, ` + id + `)`
	}
	owner := func(columns string) string { return fmt.Sprintf(`$%d::{id}`, 1+count(columns)) }
	// The arguments of a sign-up are those of the user, the account and the authenticator.
	afterUser := 1 + count(newUser)
	afterAccount := afterUser + count(newAccount)
	signUp := `WITH u AS ({insert} RETURNING *),
		a AS (INSERT INTO {accounts} AS a (` + into(newAccount) + `, {owner of a}) SELECT ` + values(newAccount, afterUser) + `, u.id FROM u RETURNING 1)`
	signUpAuthenticator := `,
		c AS (INSERT INTO {authenticators} AS c (` + into(newAuthenticator) + `, {owner of c}) SELECT ` + values(newAuthenticator, afterAccount) + `, u.id FROM u RETURNING 1)`
	signUpPassword := `WITH u AS ({insert} RETURNING *),
		p AS (INSERT INTO {passwords} AS p (` + into(newPassword) + `, {owner of p}) SELECT ` + values(newPassword, afterUser) + `, u.id FROM u RETURNING 1)`
	// Another way to sign in stays. Of a table that the site lacks, there is none.
	hasPassword, hasAuthenticator := `EXISTS (SELECT FROM {passwords} AS p WHERE p."userId" = $1::{id})`, `EXISTS (SELECT FROM {authenticators} AS c WHERE c."userId" = $1::{id})`
	if shape.absent["passwords"] != nil {
		hasPassword = `false`
	}
	if shape.absent["authenticators"] != nil {
		hasAuthenticator = `false`
	}

	all := &statements{
		shape: shape,

		createUser: write(insertUser(afterUser) + ` ON CONFLICT DO NOTHING RETURNING {user}`),

		// The account and the authenticator get the ID of the new user. If a trigger
		// leaves one of them out, the division fails, and nothing is stored.
		createUserWithAccount: write(strings.Replace(signUp, "{insert}", insertUser(afterAccount), 1) + ` SELECT {user} FROM u WHERE 1 / (SELECT count(*) FROM a) = 1`),
		createUserWithAccountAuthenticator: write(strings.Replace(signUp+signUpAuthenticator, "{insert}", insertUser(afterAccount+count(newAuthenticator)), 1) +
			` SELECT {user} FROM u WHERE 1 / ((SELECT count(*) FROM a) * (SELECT count(*) FROM c)) = 1`),

		getUser: lookup(`SELECT {user} FROM {users} AS u WHERE u.id = $1::{id}`),

		getUserByEmail: lookup(`SELECT {user} FROM {users} AS u WHERE u.email = $1::text`),

		// $1 and $2 are the address and the ID of a new user.
		getUserByEither: read(`SELECT u.id FROM {users} AS u WHERE u.email = $1::text OR u.id = $2::{id}`),

		getUserByAccount: lookup(`SELECT {user} FROM {accounts} AS a JOIN {users} AS u ON u.id = a."userId"
			WHERE a.provider = $1::text AND a."providerAccountId" = $2::text`),

		updateUser:   write(`UPDATE {users} AS u SET {set} WHERE u.id = $1::{id} RETURNING {user}`),
		updateUserIf: write(`UPDATE {users} AS u SET {set} WHERE u.id = $1::{id} AND u.email = $2::text RETURNING {user}`),
		getUserIf:    read(`SELECT {user} FROM {users} AS u WHERE u.id = $1::{id} AND u.email = $2::text`),

		deleteUser: write(`DELETE FROM {users} AS u WHERE u.id = $1::{id} RETURNING {user}`),

		linkAccount: write(`INSERT INTO {accounts} AS a (` + into(newAccount) + `, {owner of a})
			VALUES (` + values(newAccount, 1) + `, ` + owner(newAccount) + `) ON CONFLICT DO NOTHING RETURNING {account}`),

		getAccount: lookup(`SELECT {account} FROM {accounts} AS a WHERE a.provider = $1::text AND a."providerAccountId" = $2::text`),

		listAccountsByUserID: list("a", accountColumns, ` FROM {accounts} AS a JOIN {users} AS u ON u.id = a."userId" WHERE a."userId" = $1::{id}`),

		updateAccount: write(`UPDATE {accounts} AS a SET {set} WHERE a.provider = $1::text AND a."providerAccountId" = $2::text RETURNING {account}`),

		unlinkAccount: write(`DELETE FROM {accounts} AS a WHERE a.provider = $1::text AND a."providerAccountId" = $2::text RETURNING {account}`),

		createSession: write(`INSERT INTO {sessions} AS s (` + into(newSession) + `, {owner of s})
			VALUES (` + values(newSession, 1) + `, ` + owner(newSession) + `) ON CONFLICT DO NOTHING RETURNING {session}`),

		getSession: read(`SELECT {session} FROM {sessions} AS s WHERE s."sessionToken" = $1::text`),

		getOtherSession: read(`SELECT s."sessionToken" FROM {sessions} AS s WHERE s."userId" = $1::{id} AND s."sessionToken" <> $2::text`),

		getSessionAndUser: lookup(`SELECT {user}, {s.expires} FROM {sessions} AS s JOIN {users} AS u ON u.id = s."userId"
			WHERE s."sessionToken" = $1::text`),

		listSessionsByUserID: list("s", sessionColumns, ` FROM {sessions} AS s JOIN {users} AS u ON u.id = s."userId" WHERE s."userId" = $1::{id}`),

		updateSession: write(`UPDATE {sessions} AS s SET {set} WHERE s."sessionToken" = $1::text RETURNING {session}`),

		deleteSession: write(`DELETE FROM {sessions} AS s WHERE s."sessionToken" = $1::text RETURNING {session}`),

		deleteSessionsByUserID: write(`DELETE FROM {sessions} AS s WHERE s."userId" = $1::{id} AND s."sessionToken" <> $2::text`),

		createVerificationToken: write(`INSERT INTO {verification_token} AS v (` + into(newToken) + `)
			VALUES (` + values(newToken, 1) + `) ON CONFLICT DO NOTHING RETURNING {token}`),

		getTokenOf: read(`SELECT v.token FROM {verification_token} AS v WHERE v.identifier = $1::text`),

		getVerificationToken: read(`SELECT v.token FROM {verification_token} AS v WHERE v.identifier = $1::text AND v.token = $2::text`),

		useVerificationToken: write(`DELETE FROM {verification_token} AS v WHERE v.identifier = $1::text AND v.token = $2::text RETURNING {token}`),

		deleteVerificationTokens: write(`DELETE FROM {verification_token} AS v WHERE v.identifier = $1::text`),

		createAuthenticator: write(`INSERT INTO {authenticators} AS c (` + into(newAuthenticator) + `, {owner of c})
			VALUES (` + values(newAuthenticator, 1) + `, ` + owner(newAuthenticator) + `) ON CONFLICT DO NOTHING RETURNING {authenticator}`),

		getAuthenticator: lookup(`SELECT {authenticator} FROM {authenticators} AS c WHERE c."credentialID" = $1::text`),

		getOwnAuthenticator: read(`SELECT c."credentialID" FROM {authenticators} AS c WHERE c."userId" = $1::{id} AND c."credentialID" = $2::text`),

		getAuthenticatorAt: read(`SELECT c."credentialID" FROM {authenticators} AS c WHERE c."credentialID" = $1::text AND c.counter = $2::bigint`),

		listAuthenticatorsByUserID: list("c", authenticatorColumns, ` FROM {authenticators} AS c WHERE c."userId" = $1::{id}`),

		updateAuthenticatorCounter: write(`UPDATE {authenticators} AS c SET {set c.counter} = $2::bigint{touch c} WHERE c."credentialID" = $1::text RETURNING {authenticator}`),

		updateAuthenticatorBackup: write(`UPDATE {authenticators} AS c SET {set c.credentialBackedUp} = $2::boolean,
			{set c.credentialDeviceType} = $3::text{touch c} WHERE c."credentialID" = $1::text RETURNING {authenticator}`),

		// A row of nulls means that the stored counter differs from the expected
		// one. The lock tells whether a deletion under way has taken the row.
		touchAuthenticator: write(`WITH held AS (SELECT FROM {authenticators} AS c WHERE c."credentialID" = $1::text FOR NO KEY UPDATE),
			touched AS (UPDATE {authenticators} AS c SET {set c.counter} = $3::bigint{last use}{touch c}
				WHERE c."credentialID" = $1::text AND c.counter = $2::bigint AND EXISTS (SELECT FROM held) RETURNING {authenticator})
			TABLE touched UNION ALL SELECT ` + noAuthenticator + ` FROM held WHERE NOT EXISTS (SELECT FROM touched)`),

		renameAuthenticator: write(`UPDATE {authenticators} AS c SET {set c.name} = $3::text{touch c}
			WHERE c."credentialID" = $2::text AND c."userId" = $1::{id} RETURNING {authenticator}`),

		// An update of the user's row that changes no value: it makes calls for
		// one user take turns, at every isolation level.
		takeTurnForUser: write(`UPDATE {users} AS u SET {set u.name} = u.name WHERE u.id = $1::{id}`),

		// A row of nulls means that this is the user's last credential. $3 is
		// keepOne.
		deleteAuthenticator: write(`WITH
			ending AS (SELECT c."credentialID" AS id, c."providerAccountId" AS account FROM {authenticators} AS c
				WHERE c."credentialID" = $2::text AND c."userId" = $1::{id}),
			others AS (SELECT c."providerAccountId" AS account FROM {authenticators} AS c WHERE c."userId" = $1::{id} AND c."credentialID" <> $2::text),
			connected AS (SELECT a.provider AS provider, a."providerAccountId" AS account FROM {accounts} AS a
				WHERE a."userId" = $1::{id} AND a.type = 'webauthn'
				AND a."providerAccountId" IN (SELECT account FROM ending)
				AND a."providerAccountId" NOT IN (SELECT account FROM others)),
			allowed AS (SELECT FROM ending WHERE NOT $3::boolean OR EXISTS (SELECT FROM others) OR ` + hasPassword + `
				OR (SELECT count(*) FROM {accounts} AS a WHERE a."userId" = $1::{id}) > (SELECT count(*) FROM connected)),
			gone AS (DELETE FROM {authenticators} AS c USING ending WHERE c."credentialID" = ending.id
				AND EXISTS (SELECT FROM allowed) RETURNING {authenticator}),
			unlinked AS (DELETE FROM {accounts} AS a USING connected AS x
				WHERE a.provider = x.provider AND a."providerAccountId" = x.account AND EXISTS (SELECT FROM allowed))
			TABLE gone UNION ALL SELECT ` + noAuthenticator + ` FROM ending WHERE NOT EXISTS (SELECT FROM allowed)`),

		createUserWithPassword: write(strings.Replace(signUpPassword, "{insert}", insertUser(afterUser+count(newPassword)), 1) + ` SELECT {user} FROM u WHERE 1 / (SELECT count(*) FROM p) = 1`),

		getPassword: lookup(`SELECT {password} FROM {passwords} AS p JOIN {users} AS u ON u.id = p."userId" WHERE p."userId" = $1::{id}`),

		getPasswordAt: read(`SELECT p."userId" FROM {passwords} AS p WHERE p."userId" = $1::{id} AND p.hash = $2::text AND p.state = $3::text`),

		setPassword: write(`INSERT INTO {passwords} AS p (` + into(newPassword) + `, {owner of p}) VALUES (` + values(newPassword, 1) + `, ` + owner(newPassword) + `)
			ON CONFLICT ({owner of p}) DO UPDATE SET {set p.hash} = excluded.{set p.hash}, {set p.state} = excluded.{set p.state}{touch p} RETURNING {password}`),

		swapPassword: write(`UPDATE {passwords} AS p SET {set p.hash} = $4::text, {set p.state} = $5::text{touch p}
			WHERE p."userId" = $1::{id} AND p.hash = $2::text AND p.state = $3::text RETURNING {password}`),

		// A row of nulls means that this is the user's last credential. $2 is keepOne.
		deletePassword: write(`WITH
			ending AS (SELECT FROM {passwords} AS p WHERE p."userId" = $1::{id}),
			allowed AS (SELECT FROM ending WHERE NOT $2::boolean OR ` + hasAuthenticator + ` OR EXISTS (SELECT FROM {accounts} AS a WHERE a."userId" = $1::{id})),
			gone AS (DELETE FROM {passwords} AS p WHERE p."userId" = $1::{id} AND EXISTS (SELECT FROM allowed) RETURNING {password})
			TABLE gone UNION ALL SELECT NULL, NULL, NULL FROM ending WHERE NOT EXISTS (SELECT FROM allowed)`),

		// A sweep reads the index in order, and each batch begins where the
		// batch before ended: while an old snapshot exists, entries of deleted
		// rows stay in the index. It skips rows that others have locked, so it
		// never waits and never takes part in a deadlock.
		sweepSessions: shape.sweeping(`WITH
			due AS (SELECT s.ctid, {s.expires} AS at, s."sessionToken" AS key FROM {sessions} AS s
				WHERE s.expires <= {$1 s.expires} AND (s.expires, s."sessionToken") > ({$2 s.expires}, $4::text)
				ORDER BY s.expires, s."sessionToken" LIMIT ` + sweepBatch + ` FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM {sessions} AS s WHERE s.ctid = ANY (ARRAY(SELECT ctid FROM due)) RETURNING 1)
			SELECT (SELECT count(*) FROM gone), count(*) OVER (), to_json(due.at) #>> '{}', key::text, '' FROM due, ` + commitSetting + ` ORDER BY due.at DESC, key DESC`),

		sweepVerificationTokens: shape.sweeping(`WITH
			due AS (SELECT v.ctid, {v.expires} AS at, v.identifier AS key, v.token AS key2 FROM {verification_token} AS v
				WHERE v.expires <= {$1 v.expires} AND (v.expires, v.identifier, v.token) > ({$2 v.expires}, $4::text, $5::text)
				ORDER BY v.expires, v.identifier, v.token LIMIT ` + sweepBatch + ` FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM {verification_token} AS v WHERE v.ctid = ANY (ARRAY(SELECT ctid FROM due)) RETURNING 1)
			SELECT (SELECT count(*) FROM gone), count(*) OVER (), to_json(due.at) #>> '{}', key::text, key2::text FROM due, ` + commitSetting + ` ORDER BY due.at DESC, key DESC, key2 DESC`),
	}
	if shape.keeping {
		all.deleteAllOfUser, all.deleteBareUser = shape.deletionInTurn()
	}
	if shape.absent["authenticators"] != nil {
		all.createUserWithAccountAuthenticator, all.createAuthenticator = "", ""
		all.getAuthenticator, all.listAuthenticatorsByUserID = find{}, find{}
	}
	return all
}

// deletionInTurn returns two statements of one transaction. The first deletes what belongs
// to a user. In the second, which deletes the user, the division fails if a trigger of the
// site has kept some of it: foreign keys would not tell.
func (s *shape) deletionInTurn() (all, bare string) {
	var deletions, left []string
	for _, name := range []string{"sessions", "accounts", "authenticators", "passwords"} {
		if s.absent[name] == nil {
			alias := aliases[name]
			rows := fmt.Sprintf(`{%s} AS %s WHERE %[2]s."userId" = $1::{id}`, name, alias)
			deletions = append(deletions, "gone_"+alias+" AS (DELETE FROM "+rows+")")
			left = append(left, "EXISTS (SELECT FROM "+rows+")")
		}
	}
	return s.writing("WITH " + strings.Join(deletions, ", ") + " SELECT 1"),
		s.writing(`DELETE FROM {users} AS u WHERE u.id = $1::{id} AND 1 / CASE WHEN ` + strings.Join(left, " OR ") + ` THEN 0 ELSE 1 END = 1 RETURNING {user}`)
}
