// Command clausesdoc writes CLAUSES.md from clauses.json. go generate in
// package adaptertest runs it.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

const page = "CLAUSES.md"

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "clausesdoc: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	if err := os.WriteFile(page, []byte(render(adaptertest.Clauses())), 0o644); err != nil { //nolint:gosec // a public page
		log.Fatal(err)
	}
}

const head = `<!-- Generated from clauses.json by go generate. Do not edit. -->

# The clauses of the adapter contract

%s Ids never change; a clause that is withdrawn keeps its id.

- **MUST** clauses hold for every adapter. **SHOULD** clauses are what good adapters do; a reason can excuse not to. **MAY** clauses allow something, which is recorded.
- The basis of a clause is what the comments of package adapter promise (API), security (SEC: breaking it lets somebody in as somebody else, undoes a revocation or
  exhausts the service), loss (LOSS: stored data is lost or changed) or quality (Q: good adapters do it).
- *Absent* is a nil record and a nil error. *Fails* is a non-nil error. A *pair* is provider and provider account id, or identifier and token.
- Incidents name public code, issues and commits. adapter-x of nextauthjs/next-auth is ` + "`packages/adapter-x`" + ` as published at commit a1a16a5a7780.
- The advice is for SQL stores, Redis and MongoDB (and what speaks their protocols). Postgres syntax stands for SQL where nothing else is said.

`

var groups = map[string]string{
	"CAP": "shape and capabilities", "USER": "users", "ACCT": "provider accounts", "SESS": "sessions", "VTOK": "verification tokens",
	"AUTHN": "WebAuthn authenticators", "SIGNUP": "sign-up in one step", "ALIST": "lists and updates of accounts", "SLIST": "lists and ends of sessions",
	"AEDIT": "edits of authenticators", "TEDIT": "deletion of verification tokens", "CASC": "deleting a user", "TIME": "instants", "DATA": "fidelity", "INPUT": "hostile and odd input",
	"ERR": "results and errors", "CTX": "contexts", "CONC": "concurrency", "FAULT": "failures under way", "EXP": "expiry and clean-up",
	"ISO": "instances, visibility, durability", "ALIAS": "memory", "VOL": "volume", "LIFE": "life cycle", "FLOW": "the core over the adapter",
}

// render returns the page.
func render(clauses []adaptertest.Clause) string {
	levels := map[adaptertest.Level]int{}
	var contents, body strings.Builder
	group := ""
	for _, c := range clauses {
		levels[c.Level]++
		if c.Group() != group {
			group = c.Group()
			title := group + ": " + groups[group]
			fmt.Fprintf(&contents, "- [%s](#%s)\n", title, anchor(title))
			fmt.Fprintf(&body, "\n## %s\n", title)
		}
		entry(&body, c)
	}
	summary := fmt.Sprintf("%d clauses: %d MUST, %d SHOULD, %d MAY.", len(clauses), levels[adaptertest.Must], levels[adaptertest.Should], levels[adaptertest.May])
	return fmt.Sprintf(head, summary) + contents.String() + fields(clauses) + body.String()
}

// field is a field of the harness, with its meaning in three kinds of
// store.
type field struct{ name, sql, network, embedded string }

var harnessFields = []field{
	{"Second", "another `*sql.DB` on the same database", "another client of the same server and prefix", "a second open of the file; another handle on the same maps"},
	{"Close", "`db.Close()`", "`client.Close()`", "close the file, or mark the handle as closed"},
	{"Reopen", "`New` on a fresh `*sql.DB`", "`New` on a fresh client", "open the file again; leave it nil and declare `Volatile` for maps"},
	{"Namespace", "the option for the table prefix or schema", "the option for the key prefix or database", "the option for the bucket or the directory"},
	{"Clock", "nil: the server has its own", "nil: the server has its own", "the clock that the adapter takes as an option"},
	{"Sweep", "nil where the adapter has `DeleteExpired`", "nil, or what triggers the server's expiry", "nil where the adapter has `DeleteExpired`"},
	{"Faults", "`fault.NewDriver` around the driver's connector", "`fault.NewProxy` in front of the server", "`fault.NewDriver` for `database/sql`; else nil"},
	{"Corrupt", "`UPDATE` a column to what can't be read", "overwrite the value of the key", "overwrite the bytes of the record"},
	{"Inspect", "`SELECT 1` by a plain handle", "`EXISTS` or `FindOne` by a plain client", "look into the file or the map"},
	{"Single", "`db.SetMaxOpenConns(1)`", "a pool of one connection", "the same as for SQL; else nil"},
	{"Limited", "`db.SetMaxOpenConns(4)`", "a pool of four connections", "the same as for SQL; else nil"},
	{"Pooled", "through PgBouncer, or `db.SetMaxIdleConns(0)`", "through a proxy of the vendor's; else declare `NoPooler`", "declare `NoPooler`"},
	{"Connections", "`db.Stats().OpenConnections`", "the connections of the proxy", "nil"},
	{"CheckHandle", "`db.PingContext`", "`client.Ping`", "nil"},
}

// fields returns the table of the harness's fields.
func fields(clauses []adaptertest.Clause) string {
	var b strings.Builder
	b.WriteString("\n## The fields of the harness\n\nA clause needs the fields that stand before it; races use Second and Faults where they are set, and find more with them.\n\n" +
		"| field | clauses that need it | SQL | over the network | embedded |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range harnessFields {
		var ids []string
		for _, c := range clauses {
			if slices.Contains(c.Needs, f.name) {
				ids = append(ids, fmt.Sprintf("[%s](#%s)", c.ID, strings.ToLower(c.ID)))
			}
		}
		if len(ids) == 0 {
			ids = []string{"used where it is set"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.name, strings.Join(ids, ", "), f.sql, f.network, f.embedded)
	}
	return b.String()
}

func entry(b *strings.Builder, c adaptertest.Clause) {
	fmt.Fprintf(b, "\n### %s\n\n**%s** (%s). %s\n\n", c.ID, c.Level, c.Basis, escape(c.Rule))
	fmt.Fprintf(b, "*Why:* %s\n\n", escape(c.Reason))
	if c.Incident != "" {
		fmt.Fprintf(b, "*Incident:* %s\n\n", link(escape(c.Incident)))
	}
	fmt.Fprintf(b, "*Tested:* %s\n\n", escape(c.Test))
	fmt.Fprintf(b, "- *SQL:* %s\n- *Redis:* %s\n- *MongoDB:* %s\n", escape(c.Fix.SQL), escape(c.Fix.Redis), escape(c.Fix.Mongo))
}

// anchor returns the anchor that GitHub makes from a heading.
func anchor(heading string) string {
	heading = strings.ToLower(heading)
	heading = regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(heading, "")
	return strings.ReplaceAll(heading, " ", "-")
}

var special = regexp.MustCompile("[\\\\`*_\\[\\]<>|~$]")

// escape keeps Markdown from reading text as markup.
func escape(text string) string {
	return special.ReplaceAllStringFunc(text, func(s string) string {
		switch s {
		case "<":
			return "&lt;"
		case ">":
			return "&gt;"
		}
		return `\` + s
	})
}

var issue = regexp.MustCompile(`([A-Za-z0-9-]+/[A-Za-z0-9.-]+|next-auth|better-auth)#(\d+)`)

// link makes links of the issues that text names.
func link(text string) string {
	return issue.ReplaceAllStringFunc(text, func(s string) string {
		m := issue.FindStringSubmatch(s)
		repository := m[1]
		switch repository {
		case "next-auth":
			repository = "nextauthjs/next-auth"
		case "better-auth":
			repository = "better-auth/better-auth"
		}
		return fmt.Sprintf("[%s](https://github.com/%s/issues/%s)", s, repository, m[2])
	})
}
