// Command clausesdoc writes CLAUSES.md, and a page for each group of clauses, from clauses.json
// and advice.json. go generate in package adaptertest runs it.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pages"
)

// index is the page that leads to the others.
const index = "CLAUSES.md"

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "clausesdoc: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	for file, text := range render(adaptertest.Clauses()) {
		if err := os.WriteFile(filepath.FromSlash(file), []byte(text), 0o644); err != nil { //nolint:gosec // a public page
			log.Fatal(err)
		}
	}
}

const generated = "<!-- Generated from clauses.json and advice.json by go generate. Do not edit. -->\n\n"

const head = generated + `# The clauses of the adapter contract

%s The id of a clause never changes, and the id of a deleted clause is not used again.

- Every adapter must keep the **MUST** clauses. A good adapter keeps the **SHOULD** clauses; it may break one if there is a reason. A **MAY** clause allows something, and the report records whether the adapter does it.
- The basis of a clause, in brackets, says why it exists. API: the comments of package adapter promise it. SEC: without it a person can sign in as another user, a revocation is undone, or the
  service can be exhausted. LOSS: without it stored data is lost or changed. Q: it makes an adapter better.
- *Absent* is a nil record and a nil error. *Fails* is a non-nil error. A *pair* is provider and provider account id, or identifier and token.
- An incident names public code, issues and commits in which the clause was broken. adapter-x of nextauthjs/next-auth is ` + "`packages/adapter-x`" + ` at commit a1a16a5a7780.
- The advice on the page of a group is for SQL stores, for Redis, for MongoDB, and for stores with the same protocols. SQL has the syntax of Postgres, unless the text names another store.
  MySQL has no RETURNING, and MariaDB has none for UPDATE: there the method is a transaction that locks the row, reads it and changes it ([Write an adapter](../docs/write-an-adapter.md)).
- Another store needs one atomic step for each rule, too. DynamoDB: a write with a condition (attribute_not_exists creates, attribute_exists updates), DeleteItem with ReturnValues ALL_OLD to use up
  a token, TransactWriteItems for records that belong together, such as a user and an item that holds the address; reads with ConsistentRead, and no lookup through a global index, which is late; TTL
  deletes days late, so the item keeps the instant and the reader looks at it. An embedded store: one transaction for each method. Files: one lock around each method; write a new file, sync it and
  rename it over the old one, and encode keys (base64url) before they are names of files.

`

var groups = map[string]string{
	"CAP": "shape and capabilities", "USER": "users", "ACCT": "provider accounts", "SESS": "sessions", "VTOK": "verification tokens",
	"AUTHN": "WebAuthn authenticators", "SIGNUP": "sign-up in one step", "ALIST": "lists and updates of accounts", "SLIST": "listing and ending sessions",
	"AEDIT": "changing authenticators", "TEDIT": "deletion of verification tokens", "PASS": "passwords", "CASC": "deleting a user",
	"TIME": "instants", "DATA": "fidelity", "INPUT": "hostile and unusual input",
	"ERR": "results and errors", "CTX": "contexts", "CONC": "concurrency", "FAULT": "failures during a call", "EXP": "expiry and clean-up",
	"ISO": "instances, visibility, durability", "ALIAS": "memory", "VOL": "volume", "LIFE": "life cycle", "SITE": "sites that exist", "FLOW": "the core over the adapter",
}

// render returns the text of each file.
func render(clauses []adaptertest.Clause) map[string]string {
	files := map[string]string{}
	levels := map[adaptertest.Level]int{}
	var contents strings.Builder
	for _, c := range clauses {
		levels[c.Level]++
		file := pages.File(c.Group())
		if files[file] == "" {
			fmt.Fprintf(&contents, "- [%s: %s](%s)\n", c.Group(), groups[c.Group()], file)
			files[file] = groupHead(c)
		}
		files[file] += entry(c)
	}
	summary := fmt.Sprintf("%d clauses: %d MUST, %d SHOULD, %d MAY.", len(clauses),
		levels[adaptertest.Must], levels[adaptertest.Should], levels[adaptertest.May])
	files[index] = fmt.Sprintf(head, summary) + contents.String() + fields(clauses)
	return files
}

// groupHead is the begin of the page of a group: its advice.
func groupHead(c adaptertest.Clause) string {
	return generated + fmt.Sprintf("# %s: %s\n\n[All clauses](../%s), and what the words mean. How an adapter keeps these:\n\n- *SQL:* %s\n- *Redis:* %s\n- *MongoDB:* %s\n",
		c.Group(), groups[c.Group()], index, escape(c.Fix.SQL), escape(c.Fix.Redis), escape(c.Fix.Mongo))
}

// field is a field of the harness, with its meaning in three kinds of
// store.
type field struct{ name, sql, network, embedded string }

var harnessFields = []field{
	{"Second", "another `*sql.DB` on the same database", "another client of the same server and prefix", "a second open of the file, or nil where the file has one opener at a time; another handle on the same maps"},
	{"Close", "`db.Close()`", "`client.Close()`", "close the file, or mark the handle as closed"},
	{"Reopen", "`New` on a new `*sql.DB`", "`New` on a new client", "open the file again; leave it nil and declare `Volatile` for maps"},
	{"Namespace", "the option for the table prefix or schema", "the option for the key prefix or database", "the option for the bucket or the directory"},
	{"Clock", "nil: the server has its own", "nil: the server has its own", "the clock that the adapter takes as an option"},
	{"Sweep", "nil if the adapter has `DeleteExpired`", "nil, or a function that triggers the server's expiry", "nil if the adapter has `DeleteExpired`"},
	{"Faults", "`fault.NewDriver` around the driver's connector", "`fault.NewProxy` in front of the server", "`fault.NewDriver` for `database/sql`; otherwise nil"},
	{"Corrupt", "`UPDATE` a column to a value that can't be read", "overwrite the value of the key", "overwrite the bytes of the record"},
	{"Inspect", "`SELECT 1` with a plain handle", "`EXISTS` or `FindOne` with a plain client", "read the file or the map"},
	{"Single", "`db.SetMaxOpenConns(1)`", "a pool of one connection", "as for SQL; otherwise nil"},
	{"Limited", "`db.SetMaxOpenConns(4)`", "a pool of four connections", "as for SQL; otherwise nil"},
	{"Pooled", "through PgBouncer, or `db.SetMaxIdleConns(0)`", "through a proxy of the vendor; otherwise declare `NoPooler`", "declare `NoPooler`"},
	{"Connections", "`db.Stats().OpenConnections`", "the connections of the proxy", "nil"},
	{"CheckHandle", "`db.PingContext`", "`client.Ping`", "nil"},
	{"Foreign", "the tables of another product, with a person in them", "its records; otherwise `NoSite`", "as for SQL; otherwise `NoSite`"},
	{"Settings", "handles with another time zone, form of dates and isolation", "a client with other options", "as for SQL; otherwise `NoSite`"},
	{"ReadOnly", "connections that become read-only", "a proxy that answers with the error of a replica", "`NoSite`"},
	{"Quoting", "a trigger whose error has the row", "a proxy whose error has the command", "as for SQL; otherwise `NoSite`"},
	{"Reduced", "a role with one right less", "a user of the server with one right less", "`NoSite`"},
	{"Refusing", "a trigger that violates a key of another table", "a rule of the store that refuses records; otherwise `NoSite`", "as for SQL; otherwise `NoSite`"},
}

// fields returns the table of the harness's fields.
func fields(clauses []adaptertest.Clause) string {
	var b strings.Builder
	b.WriteString("\n## The fields of the harness\n\nThe table shows which clauses need which field. Races also use Second and Faults if they are set, and then find more faults.\n\n" +
		"| field | clauses that need it | SQL | over the network | embedded |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range harnessFields {
		var ids []string
		for _, c := range clauses {
			if slices.Contains(c.Needs, f.name) {
				ids = append(ids, fmt.Sprintf("[%s](%s#%s)", c.ID, pages.File(c.Group()), strings.ToLower(c.ID)))
			}
		}
		if len(ids) == 0 {
			ids = []string{"used if it is set"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.name, strings.Join(ids, ", "), f.sql, f.network, f.embedded)
	}
	return b.String()
}

// entry explains a clause.
func entry(c adaptertest.Clause) string {
	text := fmt.Sprintf("\n## %s\n\n**%s** (%s). %s\n\n*Why:* %s\n\n",
		c.ID, c.Level, c.Basis, escape(c.Rule), escape(c.Reason))
	if c.Incident != "" {
		text += fmt.Sprintf("*Incident:* %s\n\n", link(escape(c.Incident)))
	}
	return text + fmt.Sprintf("*Test:* %s\n", escape(c.Test))
}

var special = strings.NewReplacer("<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`",
	"*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "$", `\$`)

// escape keeps Markdown from reading text as markup.
func escape(text string) string { return special.Replace(text) }

var issue = regexp.MustCompile(`([A-Za-z0-9-]+/[A-Za-z0-9.-]+|next-auth|better-auth)#(\d+)`)

// link makes links of the issues that text names.
func link(text string) string {
	return issue.ReplaceAllStringFunc(text, func(s string) string {
		m := issue.FindStringSubmatch(s)
		named := map[string]string{"next-auth": "nextauthjs/next-auth", "better-auth": "better-auth/better-auth"}
		return fmt.Sprintf("[%s](https://github.com/%s/issues/%s)", s, cmp.Or(named[m[1]], m[1]), m[2])
	})
}
